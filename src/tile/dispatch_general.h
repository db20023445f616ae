// Which instance of a general stage a problem takes.
#ifndef TILESCAN_TILE_DISPATCH_GENERAL_H_
#define TILESCAN_TILE_DISPATCH_GENERAL_H_

#include <cuda_tf32.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/scan_forward.h"
#include "core/status.h"

namespace tilescan::tile {

// The channels and states of a tile. Large tiles have 32-bit offsets inside a tile, small ones
// 64-bit offsets, and so take every stride.
inline constexpr size_t kSmallSide = 16;
inline constexpr size_t kLargeSide = 64;

template <size_t kSide>
using OffsetIn = std::conditional_t<kSide == kLargeSide, int32_t, int64_t>;

// Whether the offsets of a tile, token_dim being its rows and the last dimension its columns, are
// small.
inline bool HasNearElements(const TensorView& view) {
  constexpr int64_t kFar = int64_t{1} << 24;  // kLargeSide of these twice: below 2^31
  const auto is_near = [](int64_t stride) { return -kFar < stride && stride < kFar; };
  return !view.present() || (is_near(view.strides[1]) && is_near(view.strides[3]));
}

// Calls launch<Compute, kSide>(): the type of the products' operands, and the side of a tile. fp32
// operands are multiplied in fp32. All others in tf32, which holds bf16 and fp16 exactly, and whose
// exponents are those of fp32, so that a large state of small fp16 operands does not overflow.
template <typename Launch>
Status DispatchGeneral(const ScanForwardProblem& problem, const Launch& launch) {
  constexpr int64_t kMostSmall = 32;
  constexpr int64_t kMostLarge = int64_t{1} << 24;
  const ScanForwardOperands& operands = problem.operands;
  const ScanSizes& sizes = problem.sizes;
  const bool is_fp32 = operands.x.dtype == DType::kFloat32 && operands.B.dtype == DType::kFloat32;
  const bool is_near = HasNearElements(operands.x) && HasNearElements(operands.B) &&
                       HasNearElements(operands.C) && HasNearElements(operands.z) &&
                       HasNearElements(operands.out) && sizes.dstate < kMostLarge;
  const bool is_small = sizes.headdim <= kMostSmall && sizes.dstate <= kMostSmall;
  if (is_small || !is_near) {
    return is_fp32 ? launch.template operator()<float, kSmallSide>()
                   : launch.template operator()<__nv_tf32, kSmallSide>();
  }
  return is_fp32 ? launch.template operator()<float, kLargeSide>()
                 : launch.template operator()<__nv_tf32, kLargeSide>();
}

}  // namespace tilescan::tile

#endif  // TILESCAN_TILE_DISPATCH_GENERAL_H_
