// The extension module tilescan._tilescan.
#include <array>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "extension/call.h"
#include "extension/docstrings.h"
#include "extension/errors.h"
#include "extension/layer_docstrings.h"
#include "extension/operation.h"
#include "tilescan/tilescan.h"

namespace nb = nanobind;

namespace tilescan::python {
namespace {

nb::object ParseJson(const nb::str& text) {
  return nb::module_::import_("json").attr("loads")(text);
}

nb::object Info() {
  std::string text(tilescan_info(nullptr, 0), '\0');
  tilescan_info(text.data(), text.size() + 1);
  return ParseJson(nb::str(text.data(), text.size()));
}

using Describe = nb::str (*)(const nb::args&, const nb::kwargs&);
template <typename Args>
constexpr std::pair<const char*, Describe> kDescribe = {Operation<Args>::kPythonName,
                                                        &DescribeCall<Args>};
constexpr std::array kDescribed = {kDescribe<tilescan_scan_forward_args>,
                                   kDescribe<tilescan_state_update_args>,
                                   kDescribe<tilescan_causal_conv1d_forward_args>,
                                   kDescribe<tilescan_causal_conv1d_update_args>,
                                   kDescribe<tilescan_rms_norm_gated_forward_args>,
                                   kDescribe<tilescan_split_conv1d_scan_forward_args>};

// "\"scan\", ... or \"split_conv1d_scan\"".
std::string KnownOperations() {
  std::string names;
  for (const auto& [name, describe] : kDescribed) {
    if (!names.empty()) names += name == kDescribed.back().first ? " or " : ", ";
    names += std::string("\"") + name + "\"";
  }
  return names;
}

nb::object Plan(const nb::args& args, const nb::kwargs& kwargs) {
  if (args.size() == 0 || !nb::isinstance<nb::str>(args[0])) {
    ThrowTypeError("plan() takes the operation's name first: " + KnownOperations());
  }
  const auto operation = nb::cast<std::string>(args[0]);
  for (const auto& [name, describe] : kDescribed) {
    if (operation == name) return ParseJson(describe(args, kwargs));
  }
  Throw(TILESCAN_INVALID_ARGUMENT,
        "plan: operation is \"" + operation + "\", expected " + KnownOperations());
}

void Prepare(int32_t device) {
  tilescan_status status;
  std::string message;
  {
    nb::gil_scoped_release release;
    status = tilescan_prepare(device);
    if (status != TILESCAN_OK) message = tilescan_last_error();
  }
  ThrowUnlessOk(status, message);
}

// An operation under its name, and once more for a caller that looks after gradients.
template <typename Args>
void DefineOperation(nb::module_& module, const char* signature, const char* docstring) {
  const std::string name = Operation<Args>::kPythonName;
  module.def(
      name.c_str(),
      [](const nb::args& args, const nb::kwargs& kwargs) {
        return RunCall<Args>(args, kwargs, Gradients::kRefused);
      },
      nb::sig(signature), docstring);
  const std::string below = name + "_below_autograd";
  const std::string below_signature =
      "def " + below + "(*args: typing.Any, **kwargs: typing.Any) -> typing.Any";
  const std::string below_docstring =
      name + "(), with any argument by position; its caller looks after gradients.";
  module.def(
      below.c_str(),
      [](const nb::args& args, const nb::kwargs& kwargs) {
        return RunCall<Args>(args, kwargs, Gradients::kElsewhere);
      },
      nb::sig(below_signature.c_str()), below_docstring.c_str());
}

void Define(nb::module_& module) {
  DefineOperation<tilescan_scan_forward_args>(module, kScanSignature, kScanDocstring);
  DefineOperation<tilescan_state_update_args>(module, kStateUpdateSignature, kStateUpdateDocstring);
  DefineOperation<tilescan_causal_conv1d_forward_args>(module, kCausalConv1dForwardSignature,
                                                       kCausalConv1dForwardDocstring);
  DefineOperation<tilescan_causal_conv1d_update_args>(module, kCausalConv1dUpdateSignature,
                                                      kCausalConv1dUpdateDocstring);
  DefineOperation<tilescan_rms_norm_gated_forward_args>(module, kRmsNormGatedSignature,
                                                        kRmsNormGatedDocstring);
  DefineOperation<tilescan_split_conv1d_scan_forward_args>(module, kSplitConv1dScanSignature,
                                                           kSplitConv1dScanDocstring);
  module.def("plan", &Plan, nb::sig(kPlanSignature), kPlanDocstring);
  module.def("info", &Info, nb::sig("def info() -> dict[str, typing.Any]"), kInfoDocstring);
  module.def("prepare", &Prepare, nb::arg("device") = -1, kPrepareDocstring);
  module.def("forget_plans", &ForgetPlans, "Empties the cache of plans.");
  module.def("num_plans", &NumPlans, "How many plans the cache holds.");
  module.attr("__version__") = tilescan_version();
}

}  // namespace
}  // namespace tilescan::python

NB_MODULE(_tilescan, module) { tilescan::python::Define(module); }
