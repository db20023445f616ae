#include "extension/plan_cache.h"

#include <cstdint>
#include <utility>

namespace tilescan::python {
namespace {

constexpr size_t kTypicalKeyBytes = 1024;
// What a GPU plan may rely on (tilescan/types.h).
constexpr uintptr_t kVectorAlignment = 16;

std::string_view TextOrNothing(const char* text) { return text != nullptr ? text : ""; }

}  // namespace

PlanKey::PlanKey(const char* operation, const Device& device, const tilescan_options& options)
    : is_on_gpu_(device.is_cuda) {
  bytes_.reserve(kTypicalKeyBytes);
  Add(std::string_view(operation));
  Add(device.is_cuda);
  Add(device.device_id);
  Add(TextOrNothing(options.backend));
  Add(TextOrNothing(options.kernel));
  Add(TextOrNothing(options.instruction_set));
  Add(options.chunk_size);
  Add(options.num_threads);
  Add(options.check_indices);
}

void PlanKey::Add(std::string_view text) {
  Add(text.size());
  bytes_.append(text);
}

void PlanKey::Add(const tilescan_tensor& tensor) {
  Add(tensor.dtype.bits);
  if (tensor.dtype.bits == 0) return;
  Add(tensor.dtype.code);
  Add(tensor.dtype.lanes);
  Add(tensor.ndim);
  for (int32_t dim = 0; dim < tensor.ndim && dim < TILESCAN_MAX_NDIM; ++dim) {
    Add(tensor.shape[dim]);
    Add(tensor.strides[dim]);
  }
  if (is_on_gpu_) Add(reinterpret_cast<uintptr_t>(tensor.data) % kVectorAlignment == 0);
}

SharedPlan PlanCache::Find(const PlanKey& key) {
  const auto place = places_.find(key.bytes());
  if (place == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, place->second);
  return place->second->plan;
}

void PlanCache::Insert(const PlanKey& key, SharedPlan plan) {
  if (places_.contains(key.bytes())) return;  // by another thread, while this one was planning
  entries_.push_front({key.bytes(), std::move(plan)});
  places_.emplace(entries_.front().key, entries_.begin());
  if (entries_.size() <= kCapacity) return;
  places_.erase(entries_.back().key);
  entries_.pop_back();
}

void PlanCache::Clear() {
  places_.clear();
  entries_.clear();
}

}  // namespace tilescan::python
