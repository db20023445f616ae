#include "hopper/tensor_maps.h"

#include <cuda_runtime_api.h>

#include <array>

#include "hopper/scan_config.h"

namespace tilescan::hopper {
namespace {

constexpr int kBytes = 2;  // of an element
constexpr int64_t kStrideBytes = 16;
constexpr int64_t kMostStrideBytes = int64_t{1} << 40;
constexpr int64_t kMostSize = int64_t{1} << 31;  // coordinates are int32

using Encode = decltype(&cuTensorMapEncodeTiled);

// Null where there is no driver that has it. The library is not linked with the driver, so that it
// loads without one.
Encode Encoder() {
  static const Encode encode = [] {
    constexpr unsigned kSinceVersion = 12000;
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t error = cudaGetDriverEntryPointByVersion(
        "cuTensorMapEncodeTiled", &function, kSinceVersion, cudaEnableDefault, &found);
    if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) function = nullptr;
    return reinterpret_cast<Encode>(function);
  }();
  return encode;
}

// Dimensions from the one along rows on.
template <size_t kRank>
struct Layout {
  std::array<cuuint64_t, kRank> sizes;
  std::array<cuuint64_t, kRank - 1> strides;  // in bytes, of all but the first
  std::array<cuuint32_t, kRank> box;
};

template <size_t kRank>
Status EncodeTiles(const char* name, void* data, const Layout<kRank>& layout, CUtensorMap* map) {
  const Encode encode = Encoder();
  if (encode == nullptr) return Status::Internal("cuTensorMapEncodeTiled: not in the driver");
  std::array<cuuint32_t, kRank> element_strides;
  element_strides.fill(1);
  const CUresult result =
      encode(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, kRank, data, layout.sizes.data(),
             layout.strides.data(), layout.box.data(), element_strides.data(),
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) return Status();
  return Status::Internal(std::string("cuTensorMapEncodeTiled of ") + name + ": error " +
                          std::to_string(static_cast<int>(result)));
}

// A dimension of size 1 may have any stride; this one is always right.
cuuint64_t StrideBytes(const TensorView& view, size_t dim) {
  return static_cast<cuuint64_t>(view.shape[dim] == 1 ? kTileRowBytes : view.strides[dim] * kBytes);
}

}  // namespace

Status PrepareTensorMaps() {
  if (Encoder() != nullptr) return Status();
  cudaGetLastError();  // so that nobody takes it for an error of a later call
  return Status::Internal("cuTensorMapEncodeTiled: not in the driver");
}

std::string ReasonAgainstTiles(const char* name, const TensorView& view) {
  if (!view.is_aligned) return std::string(name) + " is not aligned to 16 bytes";
  if (view.strides[3] != 1) {
    return std::string(name) + "'s last dimension has stride " + std::to_string(view.strides[3]) +
           ", expected 1";
  }
  for (size_t dim = 0; dim < 3; ++dim) {
    if (view.shape[dim] >= kMostSize) return std::string(name) + " has more than 2^31 of a kind";
    if (view.shape[dim] == 1) continue;
    const int64_t stride = view.strides[dim];
    if (stride <= 0 || stride % (kStrideBytes / kBytes) != 0 ||
        stride >= kMostStrideBytes / kBytes) {
      return std::string(name) + " has stride " + std::to_string(stride) +
             ", expected a positive multiple of 8";
    }
  }
  return "";
}

Status MapTiles(const char* name, const TensorView& view, int32_t num_at_once, CUtensorMap* map) {
  if (reinterpret_cast<uintptr_t>(view.data) % kStrideBytes != 0) {
    return Status::Unsupported(std::string(name) + " is not aligned to 16 bytes");
  }
  const auto size = [&](size_t dim) { return static_cast<cuuint64_t>(view.shape[dim]); };
  const Layout<4> layout = {
      .sizes = {size(3), size(1), size(2), size(0)},
      .strides = {StrideBytes(view, 1), StrideBytes(view, 2), StrideBytes(view, 0)},
      .box = {kTileColumns, kTileRows, static_cast<cuuint32_t>(num_at_once), 1}};
  return EncodeTiles(name, view.data, layout, map);
}

Status MapDenseTiles(const char* name, void* data, int64_t num_rows, CUtensorMap* map) {
  const Layout<2> layout = {.sizes = {kTileColumns, static_cast<cuuint64_t>(num_rows)},
                            .strides = {kTileRowBytes},
                            .box = {kTileColumns, kTileRows}};
  return EncodeTiles(name, data, layout, map);
}

}  // namespace tilescan::hopper
