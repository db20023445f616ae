#include "testing/device_copy.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tilescan::testing {
namespace {

constexpr std::byte kPoison{0xff};
constexpr size_t kAlignment = 256;
constexpr size_t kGuardBytes = 256;

int64_t ElementBytesOf(const tilescan_tensor& tensor) { return tensor.dtype.bits / 8; }

bool HasElements(const tilescan_tensor& tensor) {
  if (tensor.dtype.bits == 0) return false;
  return std::all_of(tensor.shape, tensor.shape + tensor.ndim,
                     [](int64_t size) { return size > 0; });
}

// Of the memory from the lowest element to the highest.
std::pair<std::byte*, std::byte*> SpanOf(const tilescan_tensor& tensor) {
  int64_t lowest = 0;
  int64_t highest = 0;
  for (int dim = 0; dim < tensor.ndim; ++dim) {
    const int64_t reach = (tensor.shape[dim] - 1) * tensor.strides[dim];
    (reach < 0 ? lowest : highest) += reach;
  }
  auto* data = static_cast<std::byte*>(tensor.data);
  return {data + lowest * ElementBytesOf(tensor), data + (highest + 1) * ElementBytesOf(tensor)};
}

// Calls visit(offset in bytes, bytes) for pieces that together are the tensor's elements: rows of
// the last dimension where that is dense.
template <typename Visit>
void ForEachPiece(const tilescan_tensor& tensor, const Visit& visit) {
  const int64_t element_bytes = ElementBytesOf(tensor);
  int num_outer = tensor.ndim;
  int64_t piece = 1;
  if (num_outer > 0 && tensor.strides[num_outer - 1] == 1) piece = tensor.shape[--num_outer];
  int64_t count = 1;
  for (int dim = 0; dim < num_outer; ++dim) count *= tensor.shape[dim];
  for (int64_t idx = 0; idx < count; ++idx) {
    int64_t offset = 0;
    int64_t rest = idx;
    for (int dim = num_outer - 1; dim >= 0; --dim) {
      offset += rest % tensor.shape[dim] * tensor.strides[dim];
      rest /= tensor.shape[dim];
    }
    visit(offset * element_bytes, static_cast<size_t>(piece * element_bytes));
  }
}

// Spans this large are of tensors whose elements lie far apart: they are copied by themselves.
constexpr size_t kFarBytes = size_t{1} << 28;

}  // namespace

std::vector<tilescan_tensor*> TensorsOf(tilescan_scan_forward_args* args) {
  return {&args->x,
          &args->dt,
          &args->A,
          &args->B,
          &args->C,
          &args->D,
          &args->z,
          &args->dt_bias,
          &args->initial_states,
          &args->seq_idx,
          &args->cu_seqlens,
          &args->out,
          &args->final_states,
          &args->states_out};
}

std::vector<tilescan_tensor*> TensorsOf(tilescan_state_update_args* args) {
  return {&args->state,   &args->x,
          &args->dt,      &args->A,
          &args->B,       &args->C,
          &args->D,       &args->z,
          &args->dt_bias, &args->state_batch_indices,
          &args->fresh,   &args->num_accepted,
          &args->out};
}

std::vector<tilescan_tensor*> TensorsOf(tilescan_causal_conv1d_forward_args* args) {
  return {&args->x,       &args->weight,     &args->bias, &args->initial_states,
          &args->seq_idx, &args->cu_seqlens, &args->out,  &args->final_states};
}

std::vector<tilescan_tensor*> TensorsOf(tilescan_causal_conv1d_update_args* args) {
  return {&args->conv_state,    &args->x,  &args->weight, &args->bias, &args->conv_state_indices,
          &args->cache_seqlens, &args->out};
}

std::vector<tilescan_tensor*> TensorsOf(tilescan_rms_norm_gated_forward_args* args) {
  return {&args->x, &args->weight, &args->bias, &args->z, &args->out};
}

std::vector<tilescan_tensor*> TensorsOf(tilescan_split_conv1d_scan_forward_args* args) {
  return {&args->zxbcdt,         &args->conv1d_weight,    &args->A,
          &args->conv1d_bias,    &args->dt_bias,          &args->D,
          &args->rmsnorm_weight, &args->initial_states,   &args->conv_initial_states,
          &args->seq_idx,        &args->cu_seqlens,       &args->out,
          &args->final_states,   &args->conv_final_states};
}

DeviceCopy::DeviceCopy(const std::vector<tilescan_tensor*>& tensors) {
  std::vector<std::pair<std::byte*, std::byte*>> spans;
  for (const tilescan_tensor* tensor : tensors) {
    if (HasElements(*tensor)) spans.push_back(SpanOf(*tensor));
  }
  std::sort(spans.begin(), spans.end());
  for (const auto& [begin, end] : spans) {
    if (!regions_.empty() && begin < regions_.back().host_end) {
      regions_.back().host_end = std::max(regions_.back().host_end, end);
    } else {
      regions_.push_back({begin, end, nullptr});
    }
  }
  for (Region& region : regions_) {
    const size_t shift = reinterpret_cast<uintptr_t>(region.host_begin) % kAlignment;
    region.memory_bytes = kGuardBytes + shift + region.num_bytes() + kGuardBytes;
    region.memory = AllocateOnDevice(region.memory_bytes, kPoison);
    region.begin = region.memory.get() + kGuardBytes + shift;
    if (region.num_bytes() < kFarBytes) {
      CopyToDevice(region.begin, region.host_begin, region.num_bytes());
    }
  }
  for (tilescan_tensor* tensor : tensors) {
    const Region* region = RegionOf(*tensor);
    if (region == nullptr) continue;
    auto* host = static_cast<std::byte*>(tensor->data);
    std::byte* device = region->begin + (host - region->host_begin);
    if (region->num_bytes() >= kFarBytes) {
      ForEachPiece(*tensor, [&](int64_t offset, size_t bytes) {
        CopyToDevice(device + offset, host + offset, bytes);
      });
    }
    tensor->data = device;
  }
}

const DeviceCopy::Region* DeviceCopy::RegionOf(const tilescan_tensor& host) const {
  if (!HasElements(host)) return nullptr;
  const auto* data = static_cast<const std::byte*>(host.data);
  for (const Region& region : regions_) {
    if (data >= region.host_begin && data < region.host_end) return &region;
  }
  return nullptr;
}

void DeviceCopy::Download(const std::vector<tilescan_tensor>& host) const {
  SynchronizeDevice();
  for (const tilescan_tensor& tensor : host) {
    const Region* region = RegionOf(tensor);
    if (region == nullptr) continue;
    auto* data = static_cast<std::byte*>(tensor.data);
    const std::byte* device = region->begin + (data - region->host_begin);
    if (region->num_bytes() >= kFarBytes) {
      ForEachPiece(tensor, [&](int64_t offset, size_t bytes) {
        CopyFromDevice(data + offset, device + offset, bytes);
      });
    } else {
      CopyFromDevice(region->host_begin, region->begin, region->num_bytes());
    }
  }
}

bool DeviceCopy::SurroundingsIntact() const {
  for (const Region& region : regions_) {
    const auto before = static_cast<size_t>(region.begin - region.memory.get());
    const size_t after = region.memory_bytes - before - region.num_bytes();
    std::vector<std::byte> bytes(before + after);
    CopyFromDevice(bytes.data(), region.memory.get(), before);
    CopyFromDevice(bytes.data() + before, region.begin + region.num_bytes(), after);
    if (std::any_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte != kPoison; })) {
      return false;
    }
  }
  return true;
}

}  // namespace tilescan::testing
