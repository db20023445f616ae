// Sequences that begin and end inside a row, and states asked for on the way.
#include <limits>
#include <string>

#include "testing/case_list.h"

namespace tilescan::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr CaseSizes kSizes = {
    .batch = 1, .seqlen = 150, .nheads = 4, .headdim = 12, .ngroups = 2, .dstate = 20};

ScanCase SequenceCase(std::string name, std::string about, const CaseSizes& sizes, uint64_t seed) {
  ScanCase c = RandomScanCase(std::move(name), sizes, seed);
  AddOptionalOperands(&c, seed);
  c.about = std::move(about);
  return c;
}

// ids of runs: (id, length), one after another.
std::vector<int32_t> Ids(const std::vector<std::pair<int32_t, int64_t>>& runs) {
  std::vector<int32_t> ids;
  for (const auto& [id, length] : runs) ids.insert(ids.end(), static_cast<size_t>(length), id);
  return ids;
}

void AddSeqIdx(std::vector<ScanCase>* cases) {
  struct Pattern {
    const char* name;
    const char* about;
    std::vector<int32_t> ids;
  };
  constexpr int32_t kLowest = std::numeric_limits<int32_t>::min();
  constexpr int32_t kHighest = std::numeric_limits<int32_t>::max();
  const Pattern patterns[] = {
      {"one_sequence", "a single id", Ids({{0, 150}})},
      {"three_sequences", "each begins from zero but the first", Ids({{7, 40}, {3, 65}, {4, 45}})},
      {"returning_id", "an id that returns is a sequence of its own",
       Ids({{1, 50}, {2, 33}, {1, 67}})},
      {"left_padding", "the first sequence behind padding takes the initial state",
       Ids({{-1, 30}, {5, 120}})},
      {"right_padding", "padding passes the state on to the end", Ids({{5, 97}, {-1, 53}})},
      {"padding_inside", "a sequence goes on behind padding, another begins from zero",
       Ids({{1, 30}, {-1, 20}, {1, 40}, {-2, 5}, {-3, 5}, {2, 50}})},
      {"padding_only", "the final state is the initial state", Ids({{-1, 150}})},
      {"extreme_ids", "any number may be an id",
       Ids({{kHighest, 50}, {kLowest, 20}, {0, 40}, {kHighest, 40}})},
      {"single_tokens", "sequences of one token",
       Ids({{0, 1}, {1, 1}, {2, 1}, {3, 1}, {-1, 1}, {4, 1}, {5, 1}, {6, 143}})},
      {"at_chunk_ends", "sequences that end with a chunk", Ids({{0, 48}, {1, 48}, {2, 54}})},
  };
  uint64_t seed = 400;
  for (const Pattern& pattern : patterns) {
    ++seed;
    ScanCase c = SequenceCase("seq_idx/" + std::string(pattern.name), pattern.about, kSizes, seed);
    c.seq_idx = pattern.ids;
    c.states_every = 25;
    // What padding must not look at.
    const auto nan_in_padding = [ids = pattern.ids](Fill fill, int64_t token_size) -> Fill {
      return [=](int64_t idx) {
        return ids[static_cast<size_t>(idx / token_size)] < 0 ? kNan : fill(idx);
      };
    };
    c.x = nan_in_padding(c.x, c.nheads * c.headdim);
    c.z = nan_in_padding(c.z, c.nheads * c.headdim);
    c.dt = nan_in_padding(c.dt, c.nheads);
    c.B = nan_in_padding(c.B, c.ngroups * c.dstate);
    c.C = nan_in_padding(c.C, c.ngroups * c.dstate);
    cases->push_back(std::move(c));
  }

  CaseSizes rows = kSizes;
  rows.batch = 3;
  rows.seqlen = 60;
  ScanCase c = SequenceCase("seq_idx/rows_differ", "ids of each row are its own", rows, 430);
  c.seq_idx = Ids({{0, 60}, {0, 31}, {1, 29}, {-1, 10}, {0, 30}, {-1, 20}});
  c.x_dtype = DType::kBFloat16;
  cases->push_back(std::move(c));
}

void AddCuSeqlens(std::vector<ScanCase>* cases) {
  struct Packing {
    const char* name;
    std::vector<int64_t> cu_seqlens;
    DType dtype;
  };
  const Packing packings[] = {
      {"one", {0, 150}, DType::kInt32},
      {"empty_at_both_ends", {0, 0, 0, 80, 150, 150}, DType::kInt64},
      {"single_tokens", {0, 1, 2, 3, 147, 148, 149, 150}, DType::kInt32},
      {"at_chunk_ends", {0, 48, 96, 144, 150}, DType::kInt64},
      {"uneven", {0, 97, 99, 150}, DType::kInt32},
  };
  uint64_t seed = 440;
  for (const Packing& packing : packings) {
    for (const bool has_initial_states : {true, false}) {
      ++seed;
      const std::string name = std::string("cu_seqlens/") + packing.name +
                               (has_initial_states ? "" : "/no_initial_states");
      ScanCase c = SequenceCase(name, "packed sequences, states of their own", kSizes, seed);
      c.cu_seqlens = packing.cu_seqlens;
      c.cu_seqlens_dtype = packing.dtype;
      if (!has_initial_states) c.initial_states = nullptr;
      c.states_every = 10;
      cases->push_back(std::move(c));
    }
  }
  CaseSizes nothing = kSizes;
  nothing.seqlen = 0;
  ScanCase c = SequenceCase("cu_seqlens/total_zero", "two sequences, no token", nothing, 460);
  c.cu_seqlens = {0, 0, 0};
  cases->push_back(std::move(c));
  ScanCase none = SequenceCase("cu_seqlens/no_sequence", "no sequence at all", nothing, 461);
  none.cu_seqlens = {0};
  cases->push_back(std::move(none));
}

void AddStatesEvery(std::vector<ScanCase>* cases) {
  CaseSizes sizes = kSizes;
  sizes.batch = 2;
  uint64_t seed = 470;
  for (const int64_t states_every : {1, 3, 48, 64, 75, 150, 151}) {
    ++seed;
    ScanCase c = SequenceCase("states_every/" + std::to_string(states_every),
                              "states after k, 2k, ... tokens", sizes, seed);
    c.states_every = states_every;
    cases->push_back(std::move(c));
  }
}

}  // namespace

std::vector<ScanCase> SequenceScanCases() {
  std::vector<ScanCase> cases;
  AddSeqIdx(&cases);
  AddCuSeqlens(&cases);
  AddStatesEvery(&cases);
  return cases;
}

}  // namespace tilescan::testing
