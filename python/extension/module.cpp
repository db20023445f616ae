// The extension module tilescan._tilescan.
#include <cstring>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "extension/call.h"
#include "extension/docstrings.h"
#include "extension/errors.h"
#include "tilescan/tilescan.h"

namespace nb = nanobind;

namespace tilescan::python {
namespace {

using ScanArgs = tilescan_scan_forward_args;
using UpdateArgs = tilescan_state_update_args;

nb::object ParseJson(const nb::str& text) {
  return nb::module_::import_("json").attr("loads")(text);
}

nb::object Info() {
  std::string text(tilescan_info(nullptr, 0), '\0');
  tilescan_info(text.data(), text.size() + 1);
  return ParseJson(nb::str(text.data(), text.size()));
}

nb::object Plan(const nb::args& args, const nb::kwargs& kwargs) {
  if (args.size() == 0 || !nb::isinstance<nb::str>(args[0])) {
    ThrowTypeError("plan() takes the operation's name first: \"scan\" or \"state_update\"");
  }
  const auto operation = nb::cast<std::string>(args[0]);
  if (operation == "scan") return ParseJson(DescribeCall<ScanArgs>(args, kwargs));
  if (operation == "state_update") return ParseJson(DescribeCall<UpdateArgs>(args, kwargs));
  Throw(TILESCAN_INVALID_ARGUMENT,
        "plan: operation is \"" + operation + "\", expected \"scan\" or \"state_update\"");
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

void Define(nb::module_& module) {
  module.def(
      "scan",
      [](const nb::args& args, const nb::kwargs& kwargs) {
        return RunCall<ScanArgs>(args, kwargs, Gradients::kRefused);
      },
      nb::sig(kScanSignature), kScanDocstring);
  module.def(
      "state_update",
      [](const nb::args& args, const nb::kwargs& kwargs) {
        return RunCall<UpdateArgs>(args, kwargs, Gradients::kRefused);
      },
      nb::sig(kStateUpdateSignature), kStateUpdateDocstring);
  module.def("plan", &Plan, nb::sig(kPlanSignature), kPlanDocstring);
  module.def("info", &Info, nb::sig("def info() -> dict[str, typing.Any]"), kInfoDocstring);
  module.def("prepare", &Prepare, nb::arg("device") = -1, kPrepareDocstring);

  module.def(
      "scan_below_autograd",
      [](const nb::args& args, const nb::kwargs& kwargs) {
        return RunCall<ScanArgs>(args, kwargs, Gradients::kElsewhere);
      },
      nb::sig("def scan_below_autograd(*args: typing.Any, **kwargs: typing.Any) -> typing.Any"),
      "scan(), with any argument by position; its caller looks after gradients.");
  module.def(
      "state_update_below_autograd",
      [](const nb::args& args, const nb::kwargs& kwargs) {
        return RunCall<UpdateArgs>(args, kwargs, Gradients::kElsewhere);
      },
      nb::sig("def state_update_below_autograd(*args: typing.Any, **kwargs: typing.Any)"
              " -> typing.Any"),
      "state_update(), with any argument by position; its caller looks after gradients.");
  module.def("forget_plans", &ForgetPlans, "Empties the cache of plans.");
  module.def("num_plans", &NumPlans, "How many plans the cache holds.");
  module.attr("__version__") = tilescan_version();
}

}  // namespace
}  // namespace tilescan::python

NB_MODULE(_tilescan, module) { tilescan::python::Define(module); }
