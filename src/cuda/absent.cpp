// The rows and facts of a build without CUDA.
#include "plan/variant.h"

namespace tilescan::cuda {

std::span<const StateUpdateVariant> StateUpdateVariants() { return {}; }
std::span<const CausalConv1dForwardVariant> CausalConv1dForwardVariants() { return {}; }
std::span<const CausalConv1dUpdateVariant> CausalConv1dUpdateVariants() { return {}; }
std::span<const RmsNormGatedForwardVariant> RmsNormGatedForwardVariants() { return {}; }

const CudaFacts& Facts() {
  static const CudaFacts facts = [] {
    CudaFacts none;
    none.reason_against = "this build has no CUDA";
    return none;
  }();
  return facts;
}

Status WithDevice(int32_t, Status (*body)()) { return body(); }

// No row asks for it.
Status ReadDevice(void*, const void*, size_t, void*) {
  return Status::Internal(Facts().reason_against);
}

}  // namespace tilescan::cuda
