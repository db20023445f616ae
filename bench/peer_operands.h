// A problem's operands as a peer takes them.
#ifndef TILESCAN_BENCH_PEER_OPERANDS_H_
#define TILESCAN_BENCH_PEER_OPERANDS_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "bench/peer.h"
#include "testing/host_tensor.h"
#include "testing/presets.h"

namespace tilescan::bench {

// The values in fp32, compact. Those of a 16-bit operand are its values, as rounded.
class PeerOperands {
 public:
  // Of either operation.
  template <typename Operands>
  PeerOperands(const Operands& operands, const testing::HostTensor& states)
      : x_(InFloat32(operands.x)),
        dt_(InFloat32(operands.dt)),
        A_(InFloat32(operands.A)),
        B_(InFloat32(operands.B)),
        C_(InFloat32(operands.C)),
        initial_states_(InFloat32(states)) {}

  tilescan_peer_operands Describe() const {
    return {Numbers(x_), Numbers(dt_), Numbers(A_),
            Numbers(B_), Numbers(C_),  Numbers(initial_states_)};
  }

 private:
  static testing::HostTensor InFloat32(const testing::HostTensor& tensor) {
    return testing::WithDType(tensor, DType::kFloat32);
  }
  static const float* Numbers(const testing::HostTensor& tensor) {
    return tensor.view().At<const float>(0);
  }

  testing::HostTensor x_, dt_, A_, B_, C_, initial_states_;
};

inline tilescan_peer_sizes PeerSizes(const testing::ModelPreset& preset, int64_t batch,
                                     int64_t seqlen, int32_t num_threads) {
  return {batch, seqlen, preset.nheads, preset.headdim, preset.ngroups, preset.dstate, num_threads};
}

// A compact copy of plain fp32 numbers in a shape.
inline testing::HostTensor CopyOf(const float* numbers, const std::vector<int64_t>& shape) {
  testing::HostTensor tensor(DType::kFloat32, shape);
  std::memcpy(tensor.view().data, numbers,
              static_cast<size_t>(tensor.num_elements()) * sizeof(float));
  return tensor;
}

}  // namespace tilescan::bench

#endif  // TILESCAN_BENCH_PEER_OPERANDS_H_
