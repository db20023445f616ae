// What outputs that a caller did not give look like: dtype and shape, from the operands.
#ifndef TILESCAN_PYTHON_EXTENSION_OUTPUTS_H_
#define TILESCAN_PYTHON_EXTENSION_OUTPUTS_H_

#include <nanobind/nanobind.h>

#include "tilescan/tilescan.h"

namespace tilescan::python {

// A dtype of states from its name, or from an object that any framework uses for it. Not given:
// fp32, or float64 for float64 operands.
tilescan_dtype ReadStateDtype(nanobind::handle given, tilescan_dtype x_dtype);

// Describes, compact and without data, the outputs that are wanted and absent. Where operands have
// a rank that is wrong, outputs that follow from it stay absent: planning reports the operand.
void DescribeOutputs(bool wants_final_states, tilescan_dtype state_dtype,
                     tilescan_scan_forward_args* args);
void DescribeOutputs(tilescan_state_update_args* args);

}  // namespace tilescan::python

#endif  // TILESCAN_PYTHON_EXTENSION_OUTPUTS_H_
