// Checks of operands against each other: shapes by the sizes they share, dtypes, strides.
#ifndef TILESCAN_PLAN_CHECK_OPERANDS_H_
#define TILESCAN_PLAN_CHECK_OPERANDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/tensor_view.h"
#include "plan/violations.h"

namespace tilescan::plan {

struct NamedView {
  const char* name;
  const TensorView* view;
};

// A size that several operands share, like nheads. The first operand that has it sets it; the
// others must agree.
struct Size {
  static constexpr int64_t kUnknown = -1;

  const char* name;
  int64_t minimum = 0;
  int64_t value = kUnknown;
  NamedView source = {};    // what set it
  std::string reason = {};  // why it is so, where that is more than the shape of its source

  bool is_known() const { return value != kUnknown; }
};

using Shape = std::vector<Size*>;

// Checks that the view has one of the shapes, which differ in ndim, and sets its unknown sizes.
// Absent and unreadable views pass. A violation reads
// "B has shape (2, 4096, 8, 128), expected (2, 4096, ngroups, 64) because C is (2, 4096, 8, 64)".
void CheckShape(const NamedView& operand, const std::vector<Shape>& expected,
                Violations* violations);

// Checks that the view's dtype is one of those allowed; because: ends the violation, may be "".
void CheckDType(const NamedView& operand, const std::vector<DType>& allowed,
                const std::string& because, Violations* violations);

// An output's elements must be distinct.
void CheckDistinctElements(const NamedView& output, Violations* violations);

// Sizes of packed sequences.
struct SequenceSizes {
  Size num_seqs{"num_seqs"};  // of cu_seqlens
  Size cu_seqlens_length{"num_seqs + 1", 1};
};

// seq_idx (batch, seqlen) and cu_seqlens (num_seqs + 1), at most one of them, and batch 1 beside
// cu_seqlens. Sets the sizes.
void CheckSequences(const NamedView& seq_idx, const NamedView& cu_seqlens, Size* batch,
                    Size* seqlen, SequenceSizes* sizes, Violations* violations);

// Inserts a token dimension of size 1 after batch.
void InsertTokenDimension(TensorView* view);

// nheads % ngroups == 0.
void CheckGroups(const Size& nheads, const Size& ngroups, Violations* violations);

// The states of all sequences (or slots) must be countable, whether or not an operand holds them.
void CheckStateCount(const std::vector<const Size*>& sizes, Violations* violations);

// An option that is 0 or 1.
void CheckFlag(const char* name, int32_t value, Violations* violations);

// dt_softplus is 0 or 1; the limits are numbers in order.
void CheckStepOptions(int32_t dt_softplus, const float dt_limit[2], Violations* violations);

// Of a convolution: its width, and its activation.
void CheckConvWidth(const Size& width, Violations* violations);
void CheckActivation(int32_t activation, Violations* violations);

// Of a gated norm.
void CheckNormOptions(const char* eps_name, float eps, int32_t norm_before_gate,
                      Violations* violations);

// The dtypes that "float" means for an operand beside x: float64 only with a float64 x, which is
// what the reference takes.
std::vector<DType> FloatsBeside(const TensorView& x);
// "x is float32"; "" if x is not readable.
std::string DTypeOf(const NamedView& operand);

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_CHECK_OPERANDS_H_
