// The rows and facts of a build without CUDA.
#include "plan/variant.h"

namespace tilescan::cuda {

std::span<const StateUpdateVariant> StateUpdateVariants() { return {}; }

const CudaFacts& Facts() {
  static const CudaFacts facts = [] {
    CudaFacts none;
    none.reason_against = "this build has no CUDA";
    return none;
  }();
  return facts;
}

}  // namespace tilescan::cuda
