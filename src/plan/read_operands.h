// Reads the caller's description of operands, and checks each one by itself.
#ifndef TILESCAN_PLAN_READ_OPERANDS_H_
#define TILESCAN_PLAN_READ_OPERANDS_H_

#include <cstdint>
#include <string>

#include "core/tensor_view.h"
#include "plan/operation.h"
#include "plan/violations.h"
#include "tilescan/tilescan.h"

namespace tilescan::plan {

// No address space holds more, and products of two such counts' factors stay far from overflow.
constexpr int64_t kMaxElements = int64_t{1} << 46;

// Reads one operand. A present operand has a dtype the library knows, 0 to TILESCAN_MAX_NDIM
// dimensions, no negative size, at most kMaxElements elements (a size of 0 counted as 1), and
// elements at most 2^62 bytes apart, so that an offset one step past the last still fits in int64.
// What is wrong goes to violations; the view then has ndim kUnreadable, and later checks pass it
// over. The stride of a dimension of size 0 or 1, which reaches no other element, becomes 0.
TensorView ReadTensor(const char* name, const tilescan_tensor& tensor, Violations* violations);

constexpr int kUnreadable = -1;

inline bool IsReadable(const TensorView& view) {
  return view.present() && view.ndim != kUnreadable;
}

// Whether the operand is described as view was.
bool IsDescribedAs(const tilescan_tensor& tensor, const TensorView& view);

// "float32 (2, 4096, 80, 64) with strides (...)", "absent".
std::string DescriptionText(const tilescan_tensor& tensor);
std::string DescriptionText(const TensorView& view);

// All tensors of an operation's args; the rest of the struct is read by the operation's own
// validation.
template <typename Problem>
typename Operation<Problem>::Operands ReadTensors(const typename Operation<Problem>::Args& args,
                                                  Violations* violations) {
  typename Operation<Problem>::Operands operands;
  for (const auto& field : Operation<Problem>::kFields) {
    operands.*field.view = ReadTensor(field.name, args.*field.described, violations);
    if (field.is_required && !(operands.*field.view).present()) {
      violations->Add(std::string(field.name) + " is required, but absent");
    }
  }
  return operands;
}

// Forgets where the operands lie: a problem is planned without their memory.
template <typename Problem>
void DropData(typename Operation<Problem>::Operands* operands) {
  for (const auto& field : Operation<Problem>::kFields) (operands->*field.view).data = nullptr;
}

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_READ_OPERANDS_H_
