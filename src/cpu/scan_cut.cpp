#include "cpu/scan_cut.h"

#include <algorithm>

namespace tilescan::cpu {
namespace {

constexpr int64_t CeilDiv(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

// The share of the threads' time that is used when num_items equal items are dealt out.
double Balance(int64_t num_items, int32_t num_threads) {
  return static_cast<double>(num_items) /
         static_cast<double>(CeilDiv(num_items, num_threads) * num_threads);
}

// As many as the threads leave: the heads of an item share the packing of B and C, and lie side by
// side, where x and out of a token are on one page of memory.
int64_t ChooseHeadsPerItem(int64_t num_rows, int64_t nheads, int32_t num_threads) {
  constexpr double kGoodBalance = 0.9;
  constexpr int64_t kMostItemsPerThread = 3;
  int64_t best = 1;
  double best_balance = 0.0;
  for (int64_t items_per_thread = 1;
       items_per_thread <= kMostItemsPerThread && best_balance < kGoodBalance; ++items_per_thread) {
    const int64_t items_per_row = std::clamp<int64_t>(
        CeilDiv(items_per_thread * num_threads, num_rows), 1, std::max<int64_t>(nheads, 1));
    const int64_t heads_per_item = CeilDiv(nheads, items_per_row);
    const double balance = Balance(num_rows * CeilDiv(nheads, heads_per_item), num_threads);
    if (balance > best_balance) {
      best = heads_per_item;
      best_balance = balance;
    }
  }
  return best;
}

GroupBuffers* TakeGroups(Carver& carver, const ChunkShape& shape, int64_t count) {
  auto* groups = carver.Take<GroupBuffers>(count);
  for (int64_t idx = 0; idx < count; ++idx) {
    const GroupBuffers group = GroupBuffers::Take(carver, shape);
    if (groups != nullptr) groups[idx] = group;
  }
  return groups;
}

// When few heads leave threads idle, these share the chunks of long rows instead.
constexpr int64_t kChunksPerThread = 2;

bool HasFewHeads(const ScanSizes& sizes, int32_t num_threads) {
  constexpr double kFairBalance = 0.75;  // sharing chunks costs about a tenth in traffic of states
  return Balance(sizes.num_seqs * sizes.nheads, num_threads) < kFairBalance;
}

ScanCut CutByHeads(const ScanSizes& sizes, int32_t num_threads) {
  ScanCut cut;
  cut.heads_per_item =
      ChooseHeadsPerItem(std::max<int64_t>(sizes.num_seqs, 1), sizes.nheads, num_threads);
  return cut;
}

ScanCut CutByChunks(const ScanSizes& sizes, int32_t num_threads) {
  ScanCut cut;
  cut.by_chunks = true;
  cut.chunks_per_block = std::max<int64_t>(
      kChunksPerThread, CeilDiv(2 * kChunksPerThread * num_threads, sizes.nheads));
  return cut;
}

}  // namespace

ScanCut ChooseCut(const ScanForwardProblem& problem, const ChunkShape& shape, int32_t num_threads,
                  const CpuFacts& facts) {
  const ScanSizes& sizes = problem.sizes;
  // The mean row, since packed sequences' lengths are not known before the run.
  const int64_t num_tokens = sizes.batch * sizes.seqlen / std::max<int64_t>(sizes.num_seqs, 1);
  const bool by_chunks = HasFewHeads(sizes, num_threads) &&
                         CeilDiv(num_tokens, shape.chunk_size) >= kChunksPerThread * num_threads;
  ScanCut cut = by_chunks ? CutByChunks(sizes, num_threads) : CutByHeads(sizes, num_threads);
  const int64_t out_bytes =
      problem.operands.out.num_elements() * ElementBytes(problem.operands.out.dtype);
  cut.past_caches = facts.l3_cache_bytes > 0 && out_bytes > facts.l3_cache_bytes / 4;
  return cut;
}

ThreadBuffers ThreadBuffers::Take(Carver& carver, const ChunkShape& shape, const ScanCut& cut) {
  ThreadBuffers thread;
  thread.head = HeadBuffers::Take(carver, shape);
  thread.D_row = carver.Take<float>(shape.padded_headdim);
  thread.partial_state = carver.Take<float>(StateElements(shape));
  if (!cut.by_chunks) {
    thread.states = carver.Take<float>(cut.heads_per_item, StateElements(shape));
    thread.group = GroupBuffers::Take(carver, shape);
  }
  return thread;
}

SharedBuffers SharedBuffers::Take(Carver& carver, const ChunkShape& shape, const ScanCut& cut,
                                  const ScanSizes& sizes) {
  SharedBuffers shared;
  const int64_t num_head_chunks = sizes.nheads * cut.chunks_per_block;
  shared.groups = TakeGroups(carver, shape, sizes.ngroups * cut.chunks_per_block);
  shared.states = carver.Take<float>(sizes.nheads, StateElements(shape));
  shared.before = carver.Take<float>(num_head_chunks, StateElements(shape));
  shared.chunk_decay = carver.Take<float>(num_head_chunks);
  return shared;
}

ScanSetup MakeScanSetup(const ScanForwardProblem& problem, const ScanChunkSteps& steps,
                        const Schedule& schedule) {
  ScanSetup setup;
  setup.problem = &problem;
  setup.steps = &steps;
  setup.shape = steps.shape(schedule.chunk_size, problem.sizes.headdim, problem.sizes.dstate);
  setup.cut = ChooseCut(problem, setup.shape, schedule.num_threads, Facts());
  setup.schedule = schedule;
  return setup;
}

namespace {

SharedBuffers TakeShared(const ScanSetup& setup, const ScanCut& cut, Carver& carver) {
  if (!cut.by_chunks) return {};
  return SharedBuffers::Take(carver, setup.shape, cut, setup.problem->sizes);
}

int64_t ThreadBytes(const ScanSetup& setup, const ScanCut& cut) {
  Carver counter;
  ThreadBuffers::Take(counter, setup.shape, cut);
  return static_cast<int64_t>(counter.used_bytes());
}

size_t RequiredBytes(const ScanSetup& setup, const ScanCut& cut) {
  Carver counter;
  TakeShared(setup, cut, counter);
  counter.Take<std::byte>(ThreadBytes(setup, cut), setup.schedule.num_threads);
  return counter.required_bytes();
}

}  // namespace

size_t ScanSetup::WorkspaceBytes() const {
  // Which cut it is depends on seqlen where there are few heads; how much is needed must not.
  const ScanSizes& sizes = problem->sizes;
  const size_t by_heads = RequiredBytes(*this, CutByHeads(sizes, schedule.num_threads));
  if (!HasFewHeads(sizes, schedule.num_threads)) return by_heads;
  return std::max(by_heads, RequiredBytes(*this, CutByChunks(sizes, schedule.num_threads)));
}

SharedBuffers ScanSetup::Shared(void* workspace) const {
  Carver carver(workspace);
  return TakeShared(*this, cut, carver);
}

ThreadBuffers ScanSetup::Thread(void* workspace, int32_t thread_idx) const {
  Carver counter;
  TakeShared(*this, cut, counter);
  Carver carver(workspace);
  carver.Take<std::byte>(static_cast<int64_t>(counter.used_bytes()) +
                         ThreadBytes(*this, cut) * thread_idx);
  return ThreadBuffers::Take(carver, shape, cut);
}

}  // namespace tilescan::cpu
