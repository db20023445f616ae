// Plans of earlier calls, found again by what they were made for.
#ifndef TILESCAN_PYTHON_EXTENSION_PLAN_CACHE_H_
#define TILESCAN_PYTHON_EXTENSION_PLAN_CACHE_H_

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "extension/operand.h"
#include "tilescan/tilescan.h"

namespace tilescan::python {

struct DestroyPlan {
  void operator()(tilescan_plan* plan) const { tilescan_plan_destroy(plan); }
};
// Shared by the cache and the calls that run it, so that a plan may leave the cache during a run.
using SharedPlan = std::shared_ptr<tilescan_plan>;

// All that a plan depends on, as bytes.
class PlanKey {
 public:
  PlanKey(const char* operation, const Device& device, const tilescan_options& options);
  void Add(const tilescan_tensor& tensor);
  void Add(std::string_view text);
  void Add(const float (&pair)[2]) {
    Add(pair[0]);
    Add(pair[1]);
  }
  template <typename Value>
  requires std::is_arithmetic_v<Value>
  void Add(Value value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value)); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  bool is_on_gpu_;
};

// The last kCapacity plans that were used. To be used with the GIL held.
class PlanCache {
 public:
  SharedPlan Find(const PlanKey& key);
  void Insert(const PlanKey& key, SharedPlan plan);
  size_t size() const { return entries_.size(); }
  void Clear();

  // A model with a hundred shapes of prompts in turn stays within it; a plan is a few kilobytes.
  static constexpr size_t kCapacity = 256;

 private:
  struct Entry {
    std::string key;
    SharedPlan plan;
  };
  std::list<Entry> entries_;  // the last used one first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> places_;
};

}  // namespace tilescan::python

#endif  // TILESCAN_PYTHON_EXTENSION_PLAN_CACHE_H_
