// A call of an operation from Python: read, plan, make what is not given, run, return.
#ifndef TILESCAN_PYTHON_EXTENSION_CALL_H_
#define TILESCAN_PYTHON_EXTENSION_CALL_H_

#include <nanobind/nanobind.h>

#include "tilescan/tilescan.h"

namespace tilescan::python {

// Who looks after gradients. kRefused: nobody, so operands that need one are refused. kElsewhere:
// the caller (tilescan.torch).
enum class Gradients { kRefused, kElsewhere };

// Runs an operation on Python's arguments and returns its outputs. Args: the args struct of one
// that extension/operation.h describes.
template <typename Args>
nanobind::object RunCall(const nanobind::args& args, const nanobind::kwargs& kwargs,
                         Gradients gradients);

// Describes the plan of the same call, whose first positional argument is the operation's name, as
// JSON; makes and writes nothing.
template <typename Args>
nanobind::str DescribeCall(const nanobind::args& args, const nanobind::kwargs& kwargs);

// Forgets all plans. Those that are running live until their runs end.
void ForgetPlans();
size_t NumPlans();

}  // namespace tilescan::python

#endif  // TILESCAN_PYTHON_EXTENSION_CALL_H_
