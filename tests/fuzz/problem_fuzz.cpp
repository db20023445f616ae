// Feeds the planner with arbitrary descriptions of operands, and runs those plans that are small:
// it must refuse with a message or compute, and touch nothing but the operands. Each description is
// a right one with some fields changed, so that the checks behind the first are reached too.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "plan/operation.h"
#include "tests/unit/example_args.h"
#include "tilescan/tilescan.h"

namespace {

using tilescan::ScanForwardProblem;
using tilescan::SplitConv1dScanForwardProblem;
using tilescan::StateUpdateProblem;
using tilescan::plan::Operation;

void Require(bool condition) {
  if (!condition) std::abort();
}

// ---- descriptions ----

const tilescan_dtype kDTypes[] = {tilescan_float32(), tilescan_bfloat16(), tilescan_float16(),
                                  tilescan_float64(), tilescan_int32(),    tilescan_int64(),
                                  tilescan_uint8(),   tilescan_bool()};

int64_t AnySize(FuzzedDataProvider* input) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  switch (input->ConsumeIntegralInRange(0, 3)) {
    case 0:
      return input->PickValueInArray<int64_t>(
          {0, 1, -1, kLargest, -kLargest - 1, int64_t{1} << 31, int64_t{1} << 45, kLargest / 4});
    case 1:
      return input->ConsumeIntegral<int64_t>();
    default:
      return input->ConsumeIntegralInRange<int64_t>(-4, 40);
  }
}

void ChangeTensor(FuzzedDataProvider* input, tilescan_tensor* tensor) {
  const int dim = input->ConsumeIntegralInRange(0, TILESCAN_MAX_NDIM - 1);
  switch (input->ConsumeIntegralInRange(0, 7)) {
    case 0:
      *tensor = tilescan_tensor{};
      break;
    case 1:
      tensor->dtype =
          tilescan_make_dtype(input->ConsumeIntegral<uint8_t>(), input->ConsumeIntegral<uint8_t>());
      break;
    case 2:
      tensor->ndim = input->ConsumeIntegralInRange(-1, TILESCAN_MAX_NDIM + 1);
      break;
    case 3:
      tensor->dtype.lanes = input->ConsumeIntegral<uint16_t>();
      break;
    case 4:
      tensor->shape[dim] = AnySize(input);
      break;
    case 5:
      tensor->strides[dim] = AnySize(input);
      break;
    default:
      tensor->dtype = input->PickValueInArray(kDTypes);
      break;
  }
}

void ChangeScalars(FuzzedDataProvider* input, tilescan_scan_forward_args* args) {
  args->states_every = AnySize(input);
}
void ChangeScalars(FuzzedDataProvider*, tilescan_state_update_args*) {}
void ChangeScalars(FuzzedDataProvider* input, tilescan_split_conv1d_scan_forward_args* args) {
  args->ngroups = AnySize(input);
  if (input->ConsumeBool()) args->group_size = AnySize(input);
  args->rmsnorm_eps = input->ConsumeFloatingPoint<float>();
  args->activation = input->ConsumeIntegralInRange(-1, 2);
}

// One size throughout, so that changed sizes pass too: each tensor's dimensions of that size
// follow.
template <typename Problem>
void ChangeSizeEverywhere(FuzzedDataProvider* input, typename Operation<Problem>::Args* args) {
  const int64_t before = input->PickValueInArray<int64_t>({1, 2, 3, 4, 5, 6, 7, 8, 12});
  const int64_t after = input->ConsumeIntegralInRange<int64_t>(0, 20);
  for (const auto& field : Operation<Problem>::kFields) {
    tilescan_tensor& tensor = args->*field.described;
    if (tensor.ndim < 1 || tensor.ndim > TILESCAN_MAX_NDIM) continue;
    std::array<int64_t, TILESCAN_MAX_NDIM> shape = {};
    std::copy(std::begin(tensor.shape), std::end(tensor.shape), shape.begin());
    std::replace(shape.begin(), shape.end(), before, after);
    tensor = tilescan_contiguous(nullptr, tensor.dtype, tensor.ndim, shape.data());
  }
}

template <typename Problem>
void ChangeArgs(FuzzedDataProvider* input, typename Operation<Problem>::Args* args) {
  const int num_changes = input->ConsumeIntegralInRange(0, 6);
  for (int change = 0; change < num_changes; ++change) {
    switch (input->ConsumeIntegralInRange(0, 5)) {
      case 0:
        args->dt_softplus = input->ConsumeIntegralInRange(-1, 2);
        args->dt_limit[0] = input->ConsumeFloatingPoint<float>();
        break;
      case 1:
        ChangeScalars(input, args);
        break;
      case 2:
        ChangeSizeEverywhere<Problem>(input, args);
        break;
      default: {
        const auto& fields = Operation<Problem>::kFields;
        const size_t idx = input->ConsumeIntegralInRange<size_t>(0, std::size(fields) - 1);
        ChangeTensor(input, &(args->*fields[idx].described));
      }
    }
  }
}

struct AnyOptions {
  std::string backend, kernel, instruction_set;
  tilescan_options options;
};

void ReadOptions(FuzzedDataProvider* input, AnyOptions* any) {
  any->backend = input->PickValueInArray({"", "cpu", "reference", "gpu"});
  any->kernel = input->PickValueInArray({"", "", "recurrence", "stages", "chunked", "?"});
  any->instruction_set = input->PickValueInArray({"", "", "scalar", "avx2", "avx512", "?"});
  tilescan_options_init(&any->options);
  if (!any->backend.empty()) any->options.backend = any->backend.c_str();
  if (!any->kernel.empty()) any->options.kernel = any->kernel.c_str();
  if (!any->instruction_set.empty()) any->options.instruction_set = any->instruction_set.c_str();
  if (input->ConsumeBool()) any->options.chunk_size = AnySize(input);
  any->options.num_threads = input->ConsumeIntegralInRange(-1, 3);
}

// ---- running ----

// Memory of just the size that the view spans, so that AddressSanitizer sees every slip.
class Memory {
 public:
  // False if it is too much to run.
  bool Bind(FuzzedDataProvider* input, tilescan_tensor* tensor) {
    constexpr int64_t kMostBytes = 1 << 16;
    const int64_t element_bytes = tensor->dtype.bits / 8;
    int64_t first = 0;
    int64_t last = 0;
    for (int dim = 0; dim < tensor->ndim; ++dim) {
      if (tensor->shape[dim] == 0) return true;  // no element, no memory
      if (tensor->shape[dim] == 1) continue;
      const int64_t reach = (tensor->shape[dim] - 1) * tensor->strides[dim];
      (reach < 0 ? first : last) += reach;
    }
    if (last - first >= kMostBytes / element_bytes) return false;
    const size_t size = static_cast<size_t>((last - first + 1) * element_bytes);
    blocks_.push_back(std::make_unique<std::byte[]>(size));
    std::byte* const block = blocks_.back().get();
    // A pattern from the input, so that indices are sometimes right.
    const uint8_t pattern = input->ConsumeIntegralInRange<uint8_t>(0, 4);
    if (pattern == 4) std::memset(block, 0xff, size);  // NaN, -1
    for (int64_t idx = 0; pattern < 2 && idx <= last - first; ++idx) {
      block[idx * element_bytes] = static_cast<std::byte>(pattern * (idx % 100));  // a count
    }
    tensor->data = block - first * element_bytes;
    return true;
  }

 private:
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

// The elements of x, by the states of each; -1: beyond int64.
int64_t Work(const tilescan_tensor& x, int64_t dstate) {
  int64_t work = 1;
  for (int dim = 0; dim < x.ndim; ++dim) {
    if (__builtin_mul_overflow(work, x.shape[dim], &work)) return -1;
  }
  return __builtin_mul_overflow(work, dstate, &work) ? -1 : work;
}

template <typename Args>
int64_t Work(const Args& args) {
  return Work(args.x, args.B.shape[args.B.ndim - 1]);
}
// Of a plan that was made, so that sizes fit each other.
int64_t Work(const tilescan_split_conv1d_scan_forward_args& args) {
  const int64_t num_state_columns = args.conv1d_weight.shape[0] - args.out.shape[2];
  return Work(args.zxbcdt, num_state_columns / (2 * args.ngroups));
}

template <typename Problem, typename RunFunction>
void RunPlan(FuzzedDataProvider* input, const tilescan_plan* plan,
             typename Operation<Problem>::Args args, RunFunction run) {
  constexpr int64_t kMostWork = 1 << 16;
  constexpr size_t kMostWorkspace = 1 << 24;
  const int64_t work = Work(args);
  const size_t workspace_bytes = tilescan_plan_workspace_bytes(plan);
  if (work < 0 || work > kMostWork || workspace_bytes > kMostWorkspace) return;
  Memory memory;
  for (const auto& field : Operation<Problem>::kFields) {
    tilescan_tensor& tensor = args.*field.described;
    if (tensor.dtype.bits != 0 && !memory.Bind(input, &tensor)) return;
  }
  const std::unique_ptr<std::byte[]> workspace(new std::byte[workspace_bytes]);
  const tilescan_status status = run(plan, &args, workspace.get(), workspace_bytes, nullptr);
  // The values of index operands may be wrong; all else was settled when planning.
  Require(status == TILESCAN_OK || status == TILESCAN_INVALID_ARGUMENT);
}

void CheckDescription(const tilescan_plan* plan) {
  const size_t length = tilescan_plan_describe(plan, nullptr, 0);
  std::string text(length, '\0');
  Require(tilescan_plan_describe(plan, text.data(), length + 1) == length);
  Require(length > 2 && text.front() == '{' && text.back() == '}');
}

template <typename Problem, typename PlanFunction, typename RunFunction>
void PlanAndRun(FuzzedDataProvider* input, typename Operation<Problem>::Args args,
                PlanFunction make_plan, RunFunction run) {
  AnyOptions any;
  ReadOptions(input, &any);
  ChangeArgs<Problem>(input, &args);
  tilescan_plan* plan = nullptr;
  const tilescan_status status = make_plan(&args, &any.options, &plan);
  Require((status == TILESCAN_OK) == (plan != nullptr));
  if (status != TILESCAN_OK) {
    Require(status == TILESCAN_INVALID_ARGUMENT || status == TILESCAN_UNSUPPORTED);
    const std::string start = std::string(Operation<Problem>::kName) + ": ";
    Require(std::strncmp(tilescan_last_error(), start.c_str(), start.size()) == 0);
    return;
  }
  CheckDescription(plan);
  RunPlan<Problem>(input, plan, args, run);
  tilescan_plan_destroy(plan);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider input(data, size);
  const bool is_rich = input.ConsumeBool();
  const int operation = input.ConsumeIntegralInRange(0, 2);
  if (operation == 0) {
    PlanAndRun<ScanForwardProblem>(
        &input, is_rich ? tilescan::plan::ExamplePacked() : tilescan::plan::ExampleScanForward(),
        tilescan_plan_scan_forward, tilescan_run_scan_forward);
  } else if (operation == 1) {
    PlanAndRun<SplitConv1dScanForwardProblem>(
        &input, tilescan::plan::ExampleSplit(is_rich ? tilescan_bfloat16() : tilescan_float32()),
        tilescan_plan_split_conv1d_scan_forward, tilescan_run_split_conv1d_scan_forward);
  } else {
    PlanAndRun<StateUpdateProblem>(
        &input,
        is_rich ? tilescan::plan::ExampleStateUpdateTokens() : tilescan::plan::ExampleStateUpdate(),
        tilescan_plan_state_update, tilescan_run_state_update);
  }
  return 0;
}
