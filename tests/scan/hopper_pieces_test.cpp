// How the streaming scan shares out its work: every chunk once, and every state made before it is
// taken. Needs no GPU.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "hopper/scan_pieces.h"

namespace tilescan::testing {
namespace {

using hopper::GetPiece;
using hopper::NumPieces;
using hopper::Piece;
using hopper::PlanScan;
using hopper::ScanCut;
using hopper::ScanPass;
using hopper::ScanPlan;

int32_t NumWorkers(const ScanPlan& plan, ScanPass pass) {
  return pass == ScanPass::kOut ? plan.num_workers : plan.num_state_workers;
}

// All pieces of a pass, each worker's in its order.
std::vector<std::vector<Piece>> PiecesOf(const ScanPlan& plan, ScanPass pass) {
  std::vector<std::vector<Piece>> pieces(static_cast<size_t>(NumWorkers(plan, pass)));
  for (int32_t worker = 0; worker < NumWorkers(plan, pass); ++worker) {
    for (int32_t idx = 0; idx < NumPieces(plan, pass, worker); ++idx) {
      pieces[static_cast<size_t>(worker)].push_back(GetPiece(plan, pass, worker, idx));
    }
  }
  return pieces;
}

// How often the pass visits each chunk of each task.
std::map<std::pair<int32_t, int32_t>, int> VisitsOf(const ScanPlan& plan, ScanPass pass) {
  std::map<std::pair<int32_t, int32_t>, int> visits;
  for (const std::vector<Piece>& pieces : PiecesOf(plan, pass)) {
    for (const Piece& piece : pieces) {
      for (int32_t chunk = piece.first_chunk; chunk < piece.end_chunk; ++chunk) {
        ++visits[{piece.task_idx, chunk}];
      }
    }
  }
  return visits;
}

// Plans of many sizes, of every cut.
template <typename Visit>
void ForEachPlan(const Visit& visit) {
  std::set<ScanCut> cuts;
  for (const int32_t num_tasks : {1, 2, 12, 16, 40, 66, 67, 132, 133, 180, 198, 320}) {
    for (const int32_t nchunks : {1, 2, 3, 5, 32, 33, 67, 150}) {
      for (const int32_t num_multiprocessors : {1, 7, 114, 132}) {
        SCOPED_TRACE(::testing::Message() << num_tasks << " tasks of " << nchunks << " chunks on "
                                          << num_multiprocessors << " multiprocessors");
        const ScanPlan plan = PlanScan(num_tasks, nchunks, num_multiprocessors);
        cuts.insert(plan.cut);
        visit(plan, num_multiprocessors);
      }
    }
  }
  EXPECT_EQ(cuts.size(), 3u);
}

TEST(HopperPieces, OutOfEveryChunkIsMadeOnce) {
  ForEachPlan([](const ScanPlan& plan, int32_t) {
    const auto visits = VisitsOf(plan, ScanPass::kOut);
    EXPECT_EQ(visits.size(), static_cast<size_t>(plan.num_tasks) * plan.nchunks);
    for (const auto& [chunk, count] : visits) {
      EXPECT_EQ(count, 1) << "chunk " << chunk.second << " of task " << chunk.first;
      EXPECT_LT(chunk.second, plan.nchunks);
    }
  });
}

TEST(HopperPieces, BlocksAreAsManyAsMayBe) {
  ForEachPlan([](const ScanPlan& plan, int32_t num_multiprocessors) {
    EXPECT_GE(plan.num_workers, 1);
    EXPECT_LE(plan.num_workers, num_multiprocessors);
    EXPECT_LE(plan.num_state_workers, num_multiprocessors);
    EXPECT_EQ(plan.num_state_workers > 0, plan.cut == ScanCut::kPieces);
    for (const auto& pieces : PiecesOf(plan, ScanPass::kOut)) EXPECT_FALSE(pieces.empty());
  });
}

TEST(HopperPieces, EveryStateIsThatBeforeThePiece) {
  ForEachPlan([](const ScanPlan& plan, int32_t) {
    // The chunk behind the last that each slot's state has seen.
    std::map<int32_t, std::pair<int32_t, int32_t>> ends;
    for (const ScanPass pass : {ScanPass::kStates, ScanPass::kOut}) {
      for (const std::vector<Piece>& pieces : PiecesOf(plan, pass)) {
        for (size_t idx = 0; idx < pieces.size(); ++idx) {
          const Piece& piece = pieces[idx];
          if (piece.state_out == Piece::kNowhere) continue;
          EXPECT_LT(piece.state_out, plan.num_slots());
          EXPECT_TRUE(
              ends.emplace(piece.state_out, std::pair(piece.task_idx, piece.end_chunk)).second)
              << "slot " << piece.state_out << " is written twice";
          // Who waits for it within the pass must not be waited for.
          if (piece.has_flags) {
            EXPECT_EQ(idx, 0u);
          }
        }
      }
    }
    for (const std::vector<Piece>& pieces : PiecesOf(plan, ScanPass::kOut)) {
      for (const Piece& piece : pieces) {
        EXPECT_EQ(piece.starts_task, piece.first_chunk == 0);
        EXPECT_EQ(piece.ends_task, piece.end_chunk == plan.nchunks);
        EXPECT_EQ(piece.state_in == Piece::kNowhere, piece.starts_task);
        if (piece.starts_task) continue;
        ASSERT_TRUE(ends.contains(piece.state_in)) << "slot " << piece.state_in;
        EXPECT_EQ(ends[piece.state_in], std::pair(piece.task_idx, piece.first_chunk));
      }
    }
  });
}

TEST(HopperPieces, PartsAreAllBeforeTheLastPiece) {
  ForEachPlan([](const ScanPlan& plan, int32_t) {
    if (plan.cut != ScanCut::kPieces) {
      EXPECT_TRUE(VisitsOf(plan, ScanPass::kStates).empty());
      return;
    }
    const int32_t num_chunks = plan.num_parts() * plan.part_chunks;
    EXPECT_LT(num_chunks, plan.nchunks);
    const auto visits = VisitsOf(plan, ScanPass::kStates);
    EXPECT_EQ(visits.size(), static_cast<size_t>(plan.num_tasks) * num_chunks);
    for (const auto& [chunk, count] : visits) EXPECT_EQ(count, 1);
    // A task's initial state is copied by the part that begins it, and lies behind all parts'
    // states.
    std::set<int32_t> copies;
    for (const std::vector<Piece>& pieces : PiecesOf(plan, ScanPass::kStates)) {
      for (const Piece& piece : pieces) {
        EXPECT_EQ(piece.initial_copy != Piece::kNowhere, piece.first_chunk == 0);
        if (piece.first_chunk == 0) copies.insert(piece.initial_copy);
      }
    }
    EXPECT_EQ(copies.size(), static_cast<size_t>(plan.num_tasks));
    EXPECT_GE(*copies.begin(), plan.num_parts() * plan.num_tasks);
    EXPECT_LT(*copies.rbegin(), plan.num_slots());
  });
}

}  // namespace
}  // namespace tilescan::testing
