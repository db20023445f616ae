// How strided views lie in memory, against brute force.
#include "plan/layout.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace tilescan::plan {
namespace {

TensorView MakeView(std::vector<int64_t> shape, std::vector<int64_t> strides,
                    void* data = nullptr) {
  TensorView view;
  view.data = data;
  view.dtype = DType::kFloat32;
  view.ndim = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), view.shape.begin());
  std::copy(strides.begin(), strides.end(), view.strides.begin());
  return view;
}

// The offset of every index, by counting through all of them.
std::vector<int64_t> AllOffsets(const TensorView& view) {
  std::vector<int64_t> offsets;
  for (int64_t index = 0; index < view.num_elements(); ++index) {
    int64_t rest = index;
    int64_t offset = 0;
    for (int dim = 0; dim < view.ndim; ++dim) {
      offset += rest % view.shape[dim] * view.strides[dim];
      rest /= view.shape[dim];
    }
    offsets.push_back(offset);
  }
  return offsets;
}

TEST(MayOverlapItself, IsFalseForCompactSlicedTransposedAndReversedViews) {
  EXPECT_FALSE(MayOverlapItself(MakeView({2, 3, 4}, {12, 4, 1})));
  EXPECT_FALSE(MayOverlapItself(MakeView({2, 3, 4}, {100, 9, 2})));
  EXPECT_FALSE(MayOverlapItself(MakeView({4, 3, 2}, {1, 4, 12})));
  EXPECT_FALSE(MayOverlapItself(MakeView({2, 3, 4}, {-12, 4, -1})));
}

TEST(MayOverlapItself, IsFalseForScalarsAndEmptyViews) {
  EXPECT_FALSE(MayOverlapItself(MakeView({}, {})));
  EXPECT_FALSE(MayOverlapItself(MakeView({1, 1}, {0, 0})));
  EXPECT_FALSE(MayOverlapItself(MakeView({0, 5}, {0, 0})));
}

TEST(MayOverlapItself, IsTrueForExpandedViews) {
  EXPECT_TRUE(MayOverlapItself(MakeView({2, 3}, {3, 0})));
  EXPECT_TRUE(MayOverlapItself(MakeView({2, 3}, {2, 1})));
  EXPECT_TRUE(MayOverlapItself(MakeView({2, 3}, {-2, 1})));
}

TEST(MayOverlapItself, IsNeverFalseForAViewThatDoes) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int64_t> size(1, 4);
  std::uniform_int_distribution<int64_t> stride(-9, 9);
  int num_overlapping = 0;
  for (int round = 0; round < 3000; ++round) {
    const TensorView view = MakeView({size(random), size(random), size(random)},
                                     {stride(random), stride(random), stride(random)});
    const std::vector<int64_t> offsets = AllOffsets(view);
    const std::set<int64_t> distinct(offsets.begin(), offsets.end());
    if (distinct.size() == offsets.size()) continue;
    ++num_overlapping;
    EXPECT_TRUE(MayOverlapItself(view));
  }
  EXPECT_GT(num_overlapping, 500);
}

TEST(CertainlyOverlap, SeesSharedMemory) {
  float memory[64];
  EXPECT_TRUE(
      CertainlyOverlap(MakeView({4, 4}, {4, 1}, memory), MakeView({4, 4}, {4, 1}, memory + 15)));
  EXPECT_FALSE(
      CertainlyOverlap(MakeView({4, 4}, {4, 1}, memory), MakeView({4, 4}, {4, 1}, memory + 16)));
  EXPECT_TRUE(CertainlyOverlap(MakeView({16}, {-1}, memory + 20), MakeView({6}, {1}, memory)));
  EXPECT_FALSE(CertainlyOverlap(MakeView({16}, {-1}, memory + 20), MakeView({5}, {1}, memory)));
}

TEST(CertainlyOverlap, LetsInterleavedViewsBe) {
  float memory[64];
  EXPECT_FALSE(
      CertainlyOverlap(MakeView({4, 4}, {8, 1}, memory), MakeView({4, 4}, {8, 1}, memory + 4)));
}

TEST(CertainlyOverlap, SeesTheSameFirstElement) {
  float memory[64];
  EXPECT_TRUE(CertainlyOverlap(MakeView({4, 4}, {8, 1}, memory), MakeView({3}, {2}, memory)));
}

TEST(CertainlyOverlap, IsFalseForEmptyViews) {
  float memory[64];
  EXPECT_FALSE(CertainlyOverlap(MakeView({0}, {1}, memory), MakeView({4}, {1}, memory)));
}

TEST(CertainlyOverlap, IsNeverTrueForViewsApart) {
  float memory[256];
  std::mt19937 random(2);
  std::uniform_int_distribution<int64_t> size(1, 4);
  std::uniform_int_distribution<int64_t> stride(-6, 6);
  std::uniform_int_distribution<int> start(64, 192);
  int num_found = 0;
  for (int round = 0; round < 20000; ++round) {
    const int starts[2] = {start(random), start(random)};
    std::set<int64_t> places[2];
    TensorView views[2];
    for (int idx = 0; idx < 2; ++idx) {
      views[idx] = MakeView({size(random), size(random)}, {stride(random), stride(random)},
                            memory + starts[idx]);
      for (const int64_t offset : AllOffsets(views[idx])) {
        places[idx].insert(starts[idx] + offset);
      }
    }
    if (!CertainlyOverlap(views[0], views[1])) continue;
    ++num_found;
    bool is_shared = false;
    for (const int64_t place : places[0]) is_shared = is_shared || places[1].count(place) > 0;
    EXPECT_TRUE(is_shared);
  }
  EXPECT_GT(num_found, 50);
}

TEST(SameLayout, ComparesDTypeShapeAndStrides) {
  const TensorView view = MakeView({4, 1}, {2, 7});
  EXPECT_TRUE(SameLayout(view, MakeView({4, 1}, {2, 9})));
  EXPECT_FALSE(SameLayout(view, MakeView({4, 1}, {3, 7})));
  EXPECT_FALSE(SameLayout(view, MakeView({3, 1}, {2, 7})));
  EXPECT_FALSE(SameLayout(view, MakeView({4}, {2})));
  TensorView other = view;
  other.dtype = DType::kBFloat16;
  EXPECT_FALSE(SameLayout(view, other));
}

}  // namespace
}  // namespace tilescan::plan
