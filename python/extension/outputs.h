// What outputs that a caller did not give look like: dtype and shape, from the operands.
#ifndef TILESCAN_PYTHON_EXTENSION_OUTPUTS_H_
#define TILESCAN_PYTHON_EXTENSION_OUTPUTS_H_

#include <nanobind/nanobind.h>

#include "tilescan/tilescan.h"

namespace tilescan::python {

// What a call asks for.
struct OutputsWanted {
  const char* operation;
  bool final_states;
  bool conv_final_states;
  // The dtype of states: its name, or an object that any framework uses for it; may be empty.
  nanobind::handle state_dtype;
};

// Describes, compact and without data, the outputs that are wanted and absent. Where operands have
// a rank that is wrong, outputs that follow from it stay absent: planning reports the operand.
// States are fp32 where no dtype is asked for (float64 for float64 operands), but those of a
// convolution, which are tokens of x (of zxbcdt): of its dtype.
void DescribeOutputs(const OutputsWanted& wanted, tilescan_scan_forward_args* args);
void DescribeOutputs(const OutputsWanted& wanted, tilescan_state_update_args* args);
void DescribeOutputs(const OutputsWanted& wanted, tilescan_causal_conv1d_forward_args* args);
void DescribeOutputs(const OutputsWanted& wanted, tilescan_causal_conv1d_update_args* args);
void DescribeOutputs(const OutputsWanted& wanted, tilescan_rms_norm_gated_forward_args* args);
void DescribeOutputs(const OutputsWanted& wanted, tilescan_split_conv1d_scan_forward_args* args);

}  // namespace tilescan::python

#endif  // TILESCAN_PYTHON_EXTENSION_OUTPUTS_H_
