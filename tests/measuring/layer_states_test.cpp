// States of many layers.
#include "testing/layer_states.h"

#include <gtest/gtest.h>

#include <cstring>

#include "testing/ceilings.h"

namespace tilescan::testing {
namespace {

TEST(LayerStates, AreCopiesOnBoundaries) {
  HostTensor state(DType::kBFloat16, {1, 3, 5, 7});  // 210 bytes: not a multiple of 64
  state.Assign(Uniform(1, -1.0, 1.0));
  const LayerStates states(state, 4);
  EXPECT_EQ(states.num_layers(), 4);
  for (int64_t layer_idx = 0; layer_idx < 4; ++layer_idx) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(states.layer(layer_idx)) % 64, 0u);
    EXPECT_EQ(std::memcmp(states.layer(layer_idx), state.view().data, 210), 0);
    std::memset(states.layer(layer_idx), 0, 210);  // must not reach the next layer
  }
}

TEST(NumLayersBeyondCaches, FillsMoreThanTheCaches) {
  const auto bytes = static_cast<double>(BytesBeyondCaches());
  for (const double state_bytes : {786432.0, 4194304.0, 1e6}) {
    const auto layers = static_cast<double>(NumLayersBeyondCaches(state_bytes));
    EXPECT_GE(layers * state_bytes, bytes);
    EXPECT_LT((layers - 1) * state_bytes, bytes);
  }
  EXPECT_EQ(NumLayersBeyondCaches(10 * bytes), 3);
}

}  // namespace
}  // namespace tilescan::testing
