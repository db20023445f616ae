#include "testing/layer_states.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "testing/ceilings.h"

namespace tilescan::testing {

int64_t NumLayersBeyondCaches(double state_bytes) {
  constexpr int64_t kMinLayers = 3;
  const auto wanted_bytes = static_cast<double>(BytesBeyondCaches());
  return std::max(kMinLayers, static_cast<int64_t>(std::ceil(wanted_bytes / state_bytes)));
}

LayerStates::LayerStates(const HostTensor& state, int64_t num_layers) : num_layers_(num_layers) {
  const int64_t state_bytes = state.num_elements() * ElementBytes(state.dtype());
  constexpr auto kBoundary = static_cast<int64_t>(kAlignment);
  pitch_bytes_ = (state_bytes + kBoundary - 1) / kBoundary * kBoundary;
  memory_.reset(static_cast<std::byte*>(
      ::operator new(static_cast<size_t>(num_layers * pitch_bytes_), kAlignment)));
  for (int64_t layer_idx = 0; layer_idx < num_layers; ++layer_idx) {
    std::memcpy(layer(layer_idx), state.view().data, static_cast<size_t>(state_bytes));
  }
}

}  // namespace tilescan::testing
