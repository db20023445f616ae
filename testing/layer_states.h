// The states of a model's layers: a copy of one state for each.
//
// A decoding step touches every layer's state once, and between two visits of one layer come those
// of all others (and the weights): in a model a state comes from memory. Stepping one state again
// and again measures a cache instead.
#ifndef TILESCAN_TESTING_LAYER_STATES_H_
#define TILESCAN_TESTING_LAYER_STATES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "testing/host_tensor.h"

namespace tilescan::testing {

// Layers whose states of that size are more than the caches hold; at least 3.
int64_t NumLayersBeyondCaches(double state_bytes);

class LayerStates {
 public:
  // state is compact. Each copy begins on a 64-byte boundary.
  LayerStates(const HostTensor& state, int64_t num_layers);

  int64_t num_layers() const { return num_layers_; }
  std::byte* layer(int64_t layer_idx) const { return memory_.get() + layer_idx * pitch_bytes_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };

  std::unique_ptr<std::byte, Free> memory_;
  int64_t num_layers_;
  int64_t pitch_bytes_;
};

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_LAYER_STATES_H_
