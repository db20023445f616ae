// tilescan for C++20: ownership, exceptions and views over the C interface, and nothing else.
// Shapes, dtypes and meaning of every operand: tilescan/tilescan.h and tilescan/layer.h.
//
//   tilescan::ScanForwardArgs args;
//   args.x = tilescan::MakeTensor(x.data(), {batch, seqlen, nheads, headdim});
//   ...
//   const tilescan::Plan plan(args);
//   std::vector<std::byte> workspace(plan.workspace_bytes());
//   plan.Run(args, workspace);
//
// A call that fails throws tilescan::Error, with the library's message and status.
#ifndef TILESCAN_TILESCAN_HPP_
#define TILESCAN_TILESCAN_HPP_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tilescan/tilescan.h"

namespace tilescan {

class Error : public std::runtime_error {
 public:
  Error(tilescan_status status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  tilescan_status status() const noexcept { return status_; }

 private:
  tilescan_status status_;
};

// Throws what the calling thread's last call reported, unless it went well.
inline void ThrowIfFailed(tilescan_status status) {
  if (status != TILESCAN_OK) throw Error(status, tilescan_last_error());
}

// ---- Tensors ----------------------------------------------------------------------------------

// float, double, int32_t, int64_t, uint8_t, bool. bfloat16 and float16 have no C++20 type: name
// them with tilescan_bfloat16() and tilescan_float16().
template <typename T>
constexpr bool kHasDType =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int32_t> ||
    std::is_same_v<T, int64_t> || std::is_same_v<T, uint8_t> || std::is_same_v<T, bool>;

template <typename T>
tilescan_dtype DTypeOf() {
  static_assert(kHasDType<T>, "give the dtype by name: tilescan_bfloat16(), ...");
  if constexpr (std::is_same_v<T, bool>) return tilescan_bool();
  if constexpr (std::is_same_v<T, uint8_t>) return tilescan_uint8();
  if constexpr (std::is_same_v<T, int32_t>) return tilescan_int32();
  if constexpr (std::is_same_v<T, int64_t>) return tilescan_int64();
  if constexpr (std::is_same_v<T, float>) return tilescan_float32();
  if constexpr (std::is_same_v<T, double>) return tilescan_float64();
}

// A view of memory that the caller keeps. T: anything, void too; inputs may be const, as the
// library writes to outputs only. strides, in elements, as many as the shape has; empty: a compact
// row-major array. Throws Error when shape and strides do not fit each other, or have more than
// TILESCAN_MAX_NDIM dimensions.
template <typename T>
tilescan_tensor MakeTensor(T* data, tilescan_dtype dtype, std::span<const int64_t> shape,
                           std::span<const int64_t> strides = {}) {
  if (shape.size() > TILESCAN_MAX_NDIM) {
    throw Error(TILESCAN_INVALID_ARGUMENT, "MakeTensor: shape has " + std::to_string(shape.size()) +
                                               " dimensions, expected at most " +
                                               std::to_string(TILESCAN_MAX_NDIM));
  }
  if (!strides.empty() && strides.size() != shape.size()) {
    throw Error(TILESCAN_INVALID_ARGUMENT,
                "MakeTensor: strides has " + std::to_string(strides.size()) +
                    " dimensions, expected " + std::to_string(shape.size()) + ", as shape");
  }
  tilescan_tensor tensor = tilescan_contiguous(const_cast<std::remove_const_t<T>*>(data), dtype,
                                               static_cast<int32_t>(shape.size()), shape.data());
  for (size_t dim = 0; dim < strides.size(); ++dim) tensor.strides[dim] = strides[dim];
  return tensor;
}

template <typename T>
tilescan_tensor MakeTensor(T* data, tilescan_dtype dtype, std::initializer_list<int64_t> shape,
                           std::initializer_list<int64_t> strides = {}) {
  return MakeTensor(data, dtype, std::span<const int64_t>(shape.begin(), shape.size()),
                    std::span<const int64_t>(strides.begin(), strides.size()));
}

// The dtype is that of T.
template <typename T>
tilescan_tensor MakeTensor(T* data, std::initializer_list<int64_t> shape,
                           std::initializer_list<int64_t> strides = {}) {
  return MakeTensor(data, DTypeOf<std::remove_const_t<T>>(), shape, strides);
}

// A compact array in a span, which must be of just that many elements, else Error.
template <typename T>
tilescan_tensor MakeTensor(std::span<T> data, std::initializer_list<int64_t> shape) {
  uint64_t num_elements = 1;
  for (const int64_t size : shape) num_elements *= static_cast<uint64_t>(size);
  if (num_elements != data.size()) {
    throw Error(TILESCAN_INVALID_ARGUMENT,
                "MakeTensor: the span has " + std::to_string(data.size()) + " elements, expected " +
                    std::to_string(num_elements) + " as the shape");
  }
  return MakeTensor(data.data(), shape);
}

// ---- Arguments --------------------------------------------------------------------------------

// The C structs, born with their defaults.
struct ScanForwardArgs : tilescan_scan_forward_args {
  ScanForwardArgs() { tilescan_scan_forward_args_init(this); }
};

struct StateUpdateArgs : tilescan_state_update_args {
  StateUpdateArgs() { tilescan_state_update_args_init(this); }
};

struct CausalConv1dForwardArgs : tilescan_causal_conv1d_forward_args {
  CausalConv1dForwardArgs() { tilescan_causal_conv1d_forward_args_init(this); }
};

struct CausalConv1dUpdateArgs : tilescan_causal_conv1d_update_args {
  CausalConv1dUpdateArgs() { tilescan_causal_conv1d_update_args_init(this); }
};

struct RmsNormGatedForwardArgs : tilescan_rms_norm_gated_forward_args {
  RmsNormGatedForwardArgs() { tilescan_rms_norm_gated_forward_args_init(this); }
};

struct SplitConv1dScanForwardArgs : tilescan_split_conv1d_scan_forward_args {
  SplitConv1dScanForwardArgs() { tilescan_split_conv1d_scan_forward_args_init(this); }
};

struct PlanOptions : tilescan_options {
  PlanOptions() { tilescan_options_init(this); }
};

// ---- Plans ------------------------------------------------------------------------------------

// Owns a plan. Immutable; may be run from several threads at once, each with its own workspace and
// outputs. A plan that was moved from may only be assigned to or destroyed.
class Plan {
 public:
  explicit Plan(const tilescan_scan_forward_args& args, const tilescan_options* options = nullptr) {
    ThrowIfFailed(tilescan_plan_scan_forward(&args, options, &plan_));
  }
  explicit Plan(const tilescan_state_update_args& args, const tilescan_options* options = nullptr) {
    ThrowIfFailed(tilescan_plan_state_update(&args, options, &plan_));
  }
  explicit Plan(const tilescan_causal_conv1d_forward_args& args,
                const tilescan_options* options = nullptr) {
    ThrowIfFailed(tilescan_plan_causal_conv1d_forward(&args, options, &plan_));
  }
  explicit Plan(const tilescan_causal_conv1d_update_args& args,
                const tilescan_options* options = nullptr) {
    ThrowIfFailed(tilescan_plan_causal_conv1d_update(&args, options, &plan_));
  }
  explicit Plan(const tilescan_rms_norm_gated_forward_args& args,
                const tilescan_options* options = nullptr) {
    ThrowIfFailed(tilescan_plan_rms_norm_gated_forward(&args, options, &plan_));
  }
  explicit Plan(const tilescan_split_conv1d_scan_forward_args& args,
                const tilescan_options* options = nullptr) {
    ThrowIfFailed(tilescan_plan_split_conv1d_scan_forward(&args, options, &plan_));
  }
  ~Plan() { tilescan_plan_destroy(plan_); }

  Plan(Plan&& other) noexcept : plan_(std::exchange(other.plan_, nullptr)) {}
  Plan& operator=(Plan&& other) noexcept {
    if (this != &other) {
      tilescan_plan_destroy(plan_);
      plan_ = std::exchange(other.plan_, nullptr);
    }
    return *this;
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  size_t workspace_bytes() const noexcept { return tilescan_plan_workspace_bytes(plan_); }

  // JSON: see tilescan_plan_describe().
  std::string Describe() const {
    std::string text(tilescan_plan_describe(plan_, nullptr, 0), '\0');
    if (text.empty()) throw Error(TILESCAN_INTERNAL, tilescan_last_error());
    tilescan_plan_describe(plan_, text.data(), text.size() + 1);
    return text;
  }

  // workspace: workspace_bytes() or more. On a CPU returns when the work is done; on a GPU, whose
  // memory the workspace is then, the work is enqueued on stream, a cudaStream_t.
  void Run(const tilescan_scan_forward_args& args, std::span<std::byte> workspace,
           void* stream = nullptr) const {
    ThrowIfFailed(
        tilescan_run_scan_forward(plan_, &args, workspace.data(), workspace.size(), stream));
  }
  void Run(const tilescan_state_update_args& args, std::span<std::byte> workspace,
           void* stream = nullptr) const {
    ThrowIfFailed(
        tilescan_run_state_update(plan_, &args, workspace.data(), workspace.size(), stream));
  }
  void Run(const tilescan_causal_conv1d_forward_args& args, std::span<std::byte> workspace,
           void* stream = nullptr) const {
    ThrowIfFailed(tilescan_run_causal_conv1d_forward(plan_, &args, workspace.data(),
                                                     workspace.size(), stream));
  }
  void Run(const tilescan_causal_conv1d_update_args& args, std::span<std::byte> workspace,
           void* stream = nullptr) const {
    ThrowIfFailed(tilescan_run_causal_conv1d_update(plan_, &args, workspace.data(),
                                                    workspace.size(), stream));
  }
  void Run(const tilescan_rms_norm_gated_forward_args& args, std::span<std::byte> workspace,
           void* stream = nullptr) const {
    ThrowIfFailed(tilescan_run_rms_norm_gated_forward(plan_, &args, workspace.data(),
                                                      workspace.size(), stream));
  }
  void Run(const tilescan_split_conv1d_scan_forward_args& args, std::span<std::byte> workspace,
           void* stream = nullptr) const {
    ThrowIfFailed(tilescan_run_split_conv1d_scan_forward(plan_, &args, workspace.data(),
                                                         workspace.size(), stream));
  }

  const tilescan_plan* get() const noexcept { return plan_; }

 private:
  tilescan_plan* plan_ = nullptr;
};

// Plans and runs once on the CPU, with a workspace of its own. For repeated calls keep the plan.
// Throws TILESCAN_UNSUPPORTED for a GPU, whose memory a workspace must be.
template <typename Args>
void RunOnce(const Args& args, const tilescan_options* options = nullptr) {
  if (options != nullptr && options->backend != nullptr &&
      std::string_view(options->backend) == "cuda") {
    throw Error(TILESCAN_UNSUPPORTED, "RunOnce: the backend is cuda, expected one of the CPU's");
  }
  const Plan plan(args, options);
  std::vector<std::byte> workspace(plan.workspace_bytes());
  plan.Run(args, workspace);
}

// See tilescan_prepare(). -1: the calling thread's current GPU.
inline void Prepare(int32_t device = -1) { ThrowIfFailed(tilescan_prepare(device)); }

// JSON: see tilescan_info().
inline std::string Info() {
  std::string text(tilescan_info(nullptr, 0), '\0');
  if (text.empty()) throw Error(TILESCAN_INTERNAL, tilescan_last_error());
  tilescan_info(text.data(), text.size() + 1);
  return text;
}

}  // namespace tilescan

#endif  // TILESCAN_TILESCAN_HPP_
