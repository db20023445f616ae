// A case: sizes, dtypes, what every operand holds, and options. Its operands are built from it.
#ifndef TILESCAN_TESTING_CASE_H_
#define TILESCAN_TESTING_CASE_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "testing/fill.h"
#include "testing/operands.h"

namespace tilescan::testing {

// A digit that was computed elsewhere: element idx of an output in float64. |difference| <=
// tolerance, half a unit of the last digit given.
struct ExpectedValue {
  std::string output;
  int64_t idx = 0;
  double value = 0.0;
  double tolerance = 0.0;
};

// kNone as the dtype of B: x's. What is empty is absent.
struct ScanCase {
  std::string name;
  std::string about;

  int64_t batch = 1;
  int64_t seqlen = 1;
  int64_t nheads = 1;
  int64_t headdim = 1;
  int64_t ngroups = 1;
  int64_t dstate = 1;

  DType x_dtype = DType::kFloat32;  // and z, out
  DType B_dtype = DType::kNone;     // and C
  DType dt_dtype = DType::kFloat32;
  DType weight_dtype = DType::kFloat32;  // A, D, dt_bias
  DType initial_states_dtype = DType::kFloat32;
  DType final_states_dtype = DType::kFloat32;
  DType states_out_dtype = DType::kFloat32;
  DType cu_seqlens_dtype = DType::kInt32;

  Fill x, dt, A, B, C, D, z, dt_bias, initial_states;
  bool is_D_per_channel = false;
  bool has_final_states = true;
  int64_t states_every = 0;         // 0: no states_out
  std::vector<int32_t> seq_idx;     // batch * seqlen
  std::vector<int64_t> cu_seqlens;  // num_seqs + 1

  bool dt_softplus = false;
  float dt_limit[2] = {0.0f, std::numeric_limits<float>::infinity()};
  int64_t chunk_size = 0;

  // How close "close" is where the case asks for more than testing/verify.h does in general, and
  // from which token of out on (whole rows; 0: everywhere).
  double max_relative = 0.0;  // 0: the general limit
  int64_t first_token = 0;
  std::vector<ExpectedValue> expected;
};

struct StateUpdateCase {
  std::string name;
  std::string about;

  int64_t batch = 1;
  int64_t num_tokens = 0;  // 0: x has no token dimension
  int64_t nheads = 1;
  int64_t headdim = 1;
  int64_t ngroups = 1;
  int64_t dstate = 1;
  int64_t num_slots = 0;  // 0: batch

  DType state_dtype = DType::kFloat32;
  DType x_dtype = DType::kFloat32;
  DType dt_dtype = DType::kFloat32;
  DType B_dtype = DType::kFloat32;
  DType C_dtype = DType::kFloat32;
  DType z_dtype = DType::kFloat32;
  DType out_dtype = DType::kFloat32;
  DType weight_dtype = DType::kFloat32;  // A, D, dt_bias
  DType state_batch_indices_dtype = DType::kInt32;
  DType fresh_dtype = DType::kUInt8;

  Fill state, x, dt, A, B, C, D, z, dt_bias;
  bool is_D_per_channel = false;
  // A, dt, dt_bias and D are passed expanded, with stride 0, as the public implementation does.
  bool is_expanded = false;
  std::vector<int64_t> state_batch_indices;
  std::vector<uint8_t> fresh;
  std::vector<int32_t> num_accepted;

  bool dt_softplus = false;
  float dt_limit[2] = {0.0f, std::numeric_limits<float>::infinity()};
  std::vector<ExpectedValue> expected;
};

struct ConvCase {
  std::string name;
  std::string about;

  int64_t batch = 1;
  int64_t seqlen = 1;
  int64_t dim = 1;
  int64_t width = 4;

  DType x_dtype = DType::kFloat32;       // and out
  DType weight_dtype = DType::kFloat32;  // and bias
  DType initial_states_dtype = DType::kFloat32;
  DType final_states_dtype = DType::kFloat32;
  DType cu_seqlens_dtype = DType::kInt32;

  Fill x, weight, bias, initial_states;
  bool has_silu = false;
  bool has_final_states = true;
  std::vector<int32_t> seq_idx;     // batch * seqlen
  std::vector<int64_t> cu_seqlens;  // num_seqs + 1
  std::vector<ExpectedValue> expected;
};

struct ConvUpdateCase {
  std::string name;
  std::string about;

  int64_t batch = 1;
  int64_t num_tokens = 0;  // 0: x has no token dimension
  int64_t dim = 1;
  int64_t width = 4;
  int64_t state_len = 3;
  int64_t num_slots = 0;  // 0: batch

  DType conv_state_dtype = DType::kFloat32;
  DType x_dtype = DType::kFloat32;
  DType out_dtype = DType::kFloat32;
  DType weight_dtype = DType::kFloat32;  // and bias
  DType conv_state_indices_dtype = DType::kInt32;

  Fill conv_state, x, weight, bias;
  bool has_silu = false;
  std::vector<int64_t> conv_state_indices;
  std::vector<int32_t> cache_seqlens;
  std::vector<ExpectedValue> expected;
};

struct NormCase {
  std::string name;
  std::string about;

  int64_t batch = 1;
  int64_t seqlen = 0;  // 0: x has no token dimension
  int64_t dim = 1;
  int64_t group_size = 0;  // 0: dim

  DType x_dtype = DType::kFloat32;
  DType z_dtype = DType::kFloat32;
  DType out_dtype = DType::kFloat32;
  DType weight_dtype = DType::kFloat32;  // and bias

  Fill x, weight, bias, z;
  float eps = 1e-5f;
  bool norm_before_gate = false;
  std::vector<ExpectedValue> expected;
};

struct SplitCase {
  std::string name;
  std::string about;

  int64_t batch = 1;
  int64_t seqlen = 1;
  int64_t nheads = 1;
  int64_t headdim = 1;
  int64_t ngroups = 1;
  int64_t dstate = 1;
  int64_t width = 4;
  int64_t group_size = 0;  // 0: dim / ngroups

  DType zxbcdt_dtype = DType::kFloat32;  // and out
  DType weight_dtype = DType::kFloat32;  // every weight
  DType initial_states_dtype = DType::kFloat32;
  DType final_states_dtype = DType::kFloat32;
  DType cu_seqlens_dtype = DType::kInt32;

  Fill zxbcdt, conv1d_weight, A, conv1d_bias, dt_bias, D, rmsnorm_weight;
  Fill conv_initial_states, initial_states;
  bool is_D_per_channel = false;
  bool has_silu = false;
  bool has_final_states = true;
  std::vector<int32_t> seq_idx;     // batch * seqlen
  std::vector<int64_t> cu_seqlens;  // num_seqs + 1

  bool dt_softplus = false;
  float dt_limit[2] = {0.0f, std::numeric_limits<float>::infinity()};
  float eps = 1e-5f;
  bool norm_before_gate = false;
  int64_t chunk_size = 0;
  std::vector<ExpectedValue> expected;
};

// The operands, filled, all in one layout; outputs are poison (a state updated in place is not).
ScanOperands BuildOperands(const ScanCase& scan_case, Layout layout = Layout::kCompact);
StateUpdateOperands BuildOperands(const StateUpdateCase& update_case,
                                  Layout layout = Layout::kCompact);
ConvOperands BuildOperands(const ConvCase& conv_case, Layout layout = Layout::kCompact);
ConvUpdateOperands BuildOperands(const ConvUpdateCase& update_case,
                                 Layout layout = Layout::kCompact);
NormOperands BuildOperands(const NormCase& norm_case, Layout layout = Layout::kCompact);
SplitOperands BuildOperands(const SplitCase& split_case, Layout layout = Layout::kCompact);

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_CASE_H_
