#include "extension/call.h"

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "extension/arguments.h"
#include "extension/errors.h"
#include "extension/memory.h"
#include "extension/operand.h"
#include "extension/operation.h"
#include "extension/outputs.h"
#include "extension/place.h"
#include "extension/plan_cache.h"

namespace nb = nanobind;

namespace tilescan::python {
namespace {

PlanCache& Plans() {
  static auto* plans = new PlanCache();  // lives as long as the process: Python ends in any order
  return *plans;
}

template <typename Args>
const Signature& SignatureOf() {
  static const auto* signature = [] {
    std::vector<const char*> names;
    names.reserve(Operation<Args>::kFields.size() + Operation<Args>::kOptions.size());
    for (const auto& field : Operation<Args>::kFields) names.push_back(field.name);
    for (const Option option : Operation<Args>::kOptions) {
      names.push_back(kOptionNames[static_cast<size_t>(option)]);
    }
    return new Signature(Operation<Args>::kPythonName, names, Operation<Args>::kNumRequired);
  }();
  return *signature;
}

template <typename Args>
tilescan_options ReadOptions(const Arguments& given, const Device& device) {
  tilescan_options options;
  tilescan_options_init(&options);
  options.backend = given.Name(PlaceOf<Args>(Option::kBackend));
  if (options.backend == nullptr && device.is_cuda) options.backend = "cuda";
  options.kernel = given.Name(PlaceOf<Args>(Option::kKernel));
  options.instruction_set = given.Name(PlaceOf<Args>(Option::kInstructionSet));
  options.chunk_size = given.Integer(PlaceOf<Args>(Option::kChunkSize));
  const int64_t num_threads = given.Integer(PlaceOf<Args>(Option::kNumThreads));
  if (num_threads > std::numeric_limits<int32_t>::max() || num_threads < 0) {
    Throw(TILESCAN_INVALID_ARGUMENT, std::string(Operation<Args>::kName) + ": num_threads is " +
                                         std::to_string(num_threads) +
                                         ", expected 0 to 2147483647");
  }
  options.num_threads = static_cast<int32_t>(num_threads);
  options.check_indices = given.Flag(PlaceOf<Args>(Option::kCheckIndices)) ? 1 : 0;
  return options;
}

int32_t ReadActivation(const Arguments& given, size_t idx) {
  const char* name = given.Name(idx);
  if (name == nullptr) return TILESCAN_ACTIVATION_NONE;
  const std::string_view text = name;
  if (text == "silu" || text == "swish") return TILESCAN_ACTIVATION_SILU;
  Throw(TILESCAN_UNSUPPORTED, std::string(given.signature().function()) + ": activation is \"" +
                                  name + "\", expected \"silu\", \"swish\" or None");
}

void ReadScalar(const Arguments& given, Option, size_t idx, int64_t* value) {
  if (given[idx].is_valid()) *value = given.Integer(idx);
}
void ReadScalar(const Arguments& given, Option option, size_t idx, int32_t* value) {
  *value = option == Option::kActivation ? ReadActivation(given, idx) : given.Flag(idx);
}
void ReadScalar(const Arguments& given, Option, size_t idx, float* value) {
  given.Number(idx, value);
}
void ReadScalar(const Arguments& given, Option, size_t idx, float (*limits)[2]) {
  given.Limits(idx, *limits);
}

template <typename Args>
void ReadScalars(const Arguments& given, Args* args) {
  const auto read = [&](const auto& scalar) {
    ReadScalar(given, scalar.option, PlaceOf<Args>(scalar.option), &(args->*scalar.member));
  };
  std::apply([&](const auto&... scalars) { (read(scalars), ...); }, Operation<Args>::kScalars);
}

template <typename Args>
SharedPlan MakePlan(const Args& args, const tilescan_options& options, const Device& device) {
  PlanKey key(Operation<Args>::kName, device, options);
  for (const auto& field : Operation<Args>::kFields) key.Add(args.*field.member);
  std::apply([&](const auto&... scalars) { (key.Add(args.*scalars.member), ...); },
             Operation<Args>::kScalars);
  SharedPlan plan = Plans().Find(key);
  if (plan != nullptr) return plan;

  tilescan_plan* made = nullptr;
  tilescan_status status;
  std::string message;
  {
    nb::gil_scoped_release release;
    status = Operation<Args>::Plan(&args, &options, &made);
    if (status != TILESCAN_OK) message = tilescan_last_error();  // this thread's: read it here
  }
  ThrowUnlessOk(status, message);
  plan = SharedPlan(made, DestroyPlan());
  Plans().Insert(key, plan);
  return plan;
}

// What both ways of using a call share: everything but its outputs' memory.
template <typename Args>
struct PreparedCall {
  PreparedCall(const nb::args& positional, const nb::kwargs& named,
               const Arguments::Positions& positions)
      : given(SignatureOf<Args>(), positional, named, positions),
        place(ReadPlace(Operation<Args>::kName, given[Operation<Args>::kXIdx],
                        given[PlaceOf<Args>(Option::kStream)])),
        current(place),
        reader(Operation<Args>::kName, place.device, place.stream) {
    Operation<Args>::Init(&args);
    for (size_t idx = 0; idx < Operation<Args>::kFields.size(); ++idx) {
      const auto& field = Operation<Args>::kFields[idx];
      if (given[idx].is_valid()) {
        args.*field.member = reader.Read(field.name, given[idx], field.access);
      }
    }
    ReadScalars(given, &args);
    const OutputsWanted wanted = {
        .operation = Operation<Args>::kName,
        .final_states = given.Flag(PlaceOf<Args>(Option::kReturnFinalStates)),
        .conv_final_states = given.Flag(PlaceOf<Args>(Option::kReturnConvFinalStates)),
        .state_dtype = given[PlaceOf<Args>(Option::kStateDtype)]};
    DescribeOutputs(wanted, &args);
    plan = MakePlan(args, ReadOptions<Args>(given, place.device), place.device);
  }

  Arguments given;
  Place place;
  CurrentPlace current;
  OperandReader reader;
  Args args;
  SharedPlan plan;
};

// The outputs in the order of the fields, made where they are not given: one alone, or a tuple.
template <typename Args>
class Outputs {
 public:
  explicit Outputs(PreparedCall<Args>* call) : call_(*call) {
    for (size_t idx = 0; idx < Operation<Args>::kFields.size(); ++idx) {
      tilescan_tensor& tensor = call->args.*Operation<Args>::kFields[idx].member;
      if (call->given[idx].is_valid() || tensor.dtype.bits == 0) continue;
      made_[idx] = MakeArray(call->place, &tensor);
    }
  }

  nb::object Return() const {
    nb::list outputs;
    for (size_t idx = Operation<Args>::kXIdx + 1; idx < Operation<Args>::kFields.size(); ++idx) {
      const auto& field = Operation<Args>::kFields[idx];
      if (field.access != Access::kWrite) continue;
      const tilescan_tensor& tensor = call_.args.*field.member;
      if (made_[idx].is_valid()) {
        outputs.append(FinishArray(call_.place, made_[idx], tensor));
      } else if (call_.given[idx].is_valid()) {
        outputs.append(call_.given[idx]);
      }
    }
    return nb::len(outputs) == 1 ? nb::object(outputs[0]) : nb::object(nb::tuple(outputs));
  }

 private:
  const PreparedCall<Args>& call_;
  std::array<nb::object, Operation<Args>::kFields.size()> made_;
};

template <typename Args>
void RefuseGradients(const PreparedCall<Args>& call) {
  for (size_t idx = 0; idx < Operation<Args>::kFields.size(); ++idx) {
    if (call.given[idx].is_valid() && FindExchange(call.given[idx]) != nullptr) {
      RefuseGradient(Operation<Args>::kName, Operation<Args>::kFields[idx].name, call.given[idx]);
    }
  }
}

}  // namespace

template <typename Args>
nb::object RunCall(const nb::args& args, const nb::kwargs& kwargs, Gradients gradients) {
  // tilescan.torch gives everything by position, which spares it a dict.
  const size_t most = gradients == Gradients::kElsewhere ? SignatureOf<Args>().size()
                                                         : Operation<Args>::kNumRequired;
  PreparedCall<Args> call(args, kwargs, {.most = most});
  if (gradients == Gradients::kRefused) RefuseGradients(call);
  const Outputs<Args> outputs(&call);
  const size_t workspace_bytes = tilescan_plan_workspace_bytes(call.plan.get());
  const Workspace workspace(call.place, workspace_bytes);
  tilescan_status status;
  std::string message;
  {
    nb::gil_scoped_release release;
    status = Operation<Args>::Run(call.plan.get(), &call.args, workspace.data(), workspace_bytes,
                                  call.place.stream);
    if (status != TILESCAN_OK) message = tilescan_last_error();
  }
  ThrowUnlessOk(status, message);
  return outputs.Return();
}

template <typename Args>
nb::str DescribeCall(const nb::args& args, const nb::kwargs& kwargs) {
  const PreparedCall<Args> call(args, kwargs, {.skip = 1, .most = Operation<Args>::kNumRequired});
  std::string text(tilescan_plan_describe(call.plan.get(), nullptr, 0), '\0');
  tilescan_plan_describe(call.plan.get(), text.data(), text.size() + 1);
  return nb::str(text.data(), text.size());
}

template nb::object RunCall<tilescan_scan_forward_args>(const nb::args&, const nb::kwargs&,
                                                        Gradients);
template nb::str DescribeCall<tilescan_scan_forward_args>(const nb::args&, const nb::kwargs&);
template nb::object RunCall<tilescan_state_update_args>(const nb::args&, const nb::kwargs&,
                                                        Gradients);
template nb::str DescribeCall<tilescan_state_update_args>(const nb::args&, const nb::kwargs&);
template nb::object RunCall<tilescan_causal_conv1d_forward_args>(const nb::args&, const nb::kwargs&,
                                                                 Gradients);
template nb::str DescribeCall<tilescan_causal_conv1d_forward_args>(const nb::args&,
                                                                   const nb::kwargs&);
template nb::object RunCall<tilescan_causal_conv1d_update_args>(const nb::args&, const nb::kwargs&,
                                                                Gradients);
template nb::str DescribeCall<tilescan_causal_conv1d_update_args>(const nb::args&,
                                                                  const nb::kwargs&);
template nb::object RunCall<tilescan_rms_norm_gated_forward_args>(const nb::args&,
                                                                  const nb::kwargs&, Gradients);
template nb::str DescribeCall<tilescan_rms_norm_gated_forward_args>(const nb::args&,
                                                                    const nb::kwargs&);
template nb::object RunCall<tilescan_split_conv1d_scan_forward_args>(const nb::args&,
                                                                     const nb::kwargs&, Gradients);
template nb::str DescribeCall<tilescan_split_conv1d_scan_forward_args>(const nb::args&,
                                                                       const nb::kwargs&);

void ForgetPlans() { Plans().Clear(); }
size_t NumPlans() { return Plans().size(); }

}  // namespace tilescan::python
