// A plan: a problem, the kernel chosen for it, and why. Immutable, so that several threads may run
// it at once.
#ifndef TILESCAN_PLAN_PLAN_H_
#define TILESCAN_PLAN_PLAN_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <variant>

#include "core/device_facts.h"
#include "core/status.h"
#include "core/workspace.h"
#include "plan/operation.h"
#include "plan/planner.h"
#include "plan/variant.h"

namespace tilescan::plan {

template <typename Problem>
struct Planned {
  typename Operation<Problem>::Operands described;  // as the caller gave them, without data
  Problem problem;                                  // in normal form, without data
  Choice<Problem> choice;
  bool check_indices = false;  // before each run on a GPU

  size_t workspace_bytes() const { return choice.workspace_bytes; }
  // Whether operands are a GPU's, and runs are enqueued.
  bool takes_stream() const { return choice.variant->takes_stream; }
};

// An operation that is made of others, which run one after another.
template <>
struct Planned<SplitConv1dScanForwardProblem> {
  SplitConv1dScanForwardOperands described;
  SplitConv1dScanForwardProblem problem;
  Choice<CausalConv1dForwardProblem> conv;
  Choice<ScanForwardProblem> scan;
  Choice<RmsNormGatedForwardProblem> norm;  // no variant without rmsnorm_weight
  bool check_indices = false;

  // What a workspace holds: the convolution's out, and the workspace of the part that runs.
  struct Workspace {
    std::byte* xBC;
    std::byte* of_part;
  };
  Workspace Take(Carver& carver) const;
  size_t workspace_bytes() const;
  bool takes_stream() const { return scan.variant->takes_stream; }
};

class Plan {
 public:
  template <typename Problem>
  explicit Plan(Planned<Problem> planned) : planned_(std::move(planned)) {}

  size_t workspace_bytes() const {
    return std::visit([](const auto& planned) { return planned.workspace_bytes(); }, planned_);
  }

  // "scan_forward", ...
  const char* operation_name() const {
    return std::visit([](const auto& planned) { return NameOf(planned); }, planned_);
  }

  // Null if the plan is of another operation.
  template <typename Problem>
  const Planned<Problem>* Get() const {
    return std::get_if<Planned<Problem>>(&planned_);
  }

  template <typename Visitor>
  auto Visit(Visitor&& visitor) const {
    return std::visit(std::forward<Visitor>(visitor), planned_);
  }

 private:
  template <typename Problem>
  static const char* NameOf(const Planned<Problem>&) {
    return Operation<Problem>::kName;
  }

  std::variant<Planned<ScanForwardProblem>, Planned<StateUpdateProblem>,
               Planned<CausalConv1dForwardProblem>, Planned<CausalConv1dUpdateProblem>,
               Planned<RmsNormGatedForwardProblem>, Planned<SplitConv1dScanForwardProblem>>
      planned_;
};

// Checks the args (read from a struct of any version, see plan/read_args.h) and the options (null:
// the defaults), chooses among the rows, and prepares what was chosen.
template <typename Problem>
Status MakePlan(const typename Operation<Problem>::Args& args, const tilescan_options* options,
                const DeviceFacts& facts, const typename RowsOf<Problem>::Type& row_lists,
                std::unique_ptr<const Plan>* plan);

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_PLAN_H_
