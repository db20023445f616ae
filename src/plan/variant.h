// A variant is a kernel as the planner sees it: a row that says what it is called, what it can do,
// what it needs, and how to run it. Backends define their rows; the planner picks among them.
#ifndef TILESCAN_PLAN_VARIANT_H_
#define TILESCAN_PLAN_VARIANT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/causal_conv1d.h"
#include "core/device_facts.h"
#include "core/rms_norm_gated.h"
#include "core/scan_forward.h"
#include "core/state_update.h"
#include "core/status.h"

namespace tilescan {

// What the planner settled for a plan, besides the variant.
struct Schedule {
  int64_t chunk_size = 0;  // 0 where the kernel has none
  int32_t num_threads = 1;
  const tilescan_executor* executor = nullptr;  // null: the backend's own threads
};

// Where a run computes: the workspace is at least workspace_bytes() large, of any alignment.
struct Launch {
  Schedule schedule;
  void* workspace = nullptr;
  void* stream = nullptr;
};

template <typename Problem>
struct Variant {
  const char* backend;          // "cpu", "reference", ...
  const char* name;             // unique within the backend and instruction set
  const char* instruction_set;  // "" where there is no choice

  // Whether it takes every valid problem, those with float64 operands aside.
  bool is_general = true;

  // Empty if it can do the problem on this machine, else the reason it cannot, to be read after
  // "cannot: ".
  std::string (*reason_against)(const Problem& problem, const DeviceFacts& facts);

  // A relative cost for this problem on this machine: among those that can, the planner takes the
  // cheapest. Where rows differ by measurement, the figure's source stands beside it.
  double (*cost)(const Problem& problem, const DeviceFacts& facts);

  // The chunk size that is used when the caller asked for `requested` (0: left it open). 0 where
  // the kernel has none.
  int64_t (*choose_chunk_size)(const Problem& problem, const DeviceFacts& facts, int64_t requested);

  size_t (*workspace_bytes)(const Problem& problem, const Schedule& schedule);

  // Called when a plan is made, before any run: starts threads or loads kernels, so that a run
  // allocates nothing. May be null.
  Status (*prepare)(const Problem& problem, const Schedule& schedule);

  // Of a GPU's row: does what prepare does, for every problem it takes, on the calling thread's
  // current GPU. Does nothing on a GPU that is not the row's.
  Status (*prepare_all)() = nullptr;

  // Whether operands and workspace are a GPU's and the run is enqueued on a stream (null: the
  // default one); else a run gets no stream and has ended when it returns.
  bool takes_stream = false;

  // Checks the values of index operands (cu_seqlens, slots) before any output is written, except
  // where a GPU alone can read them; then runs. The problem's operands have their data.
  Status (*run)(const Problem& problem, const Launch& launch);
};

using ScanForwardVariant = Variant<ScanForwardProblem>;
using StateUpdateVariant = Variant<StateUpdateProblem>;
using CausalConv1dForwardVariant = Variant<CausalConv1dForwardProblem>;
using CausalConv1dUpdateVariant = Variant<CausalConv1dUpdateProblem>;
using RmsNormGatedForwardVariant = Variant<RmsNormGatedForwardProblem>;

// Each backend's rows, defined by the backend.
namespace reference {
std::span<const ScanForwardVariant> ScanForwardVariants();
std::span<const StateUpdateVariant> StateUpdateVariants();
std::span<const CausalConv1dForwardVariant> CausalConv1dForwardVariants();
std::span<const CausalConv1dUpdateVariant> CausalConv1dUpdateVariants();
std::span<const RmsNormGatedForwardVariant> RmsNormGatedForwardVariants();
}  // namespace reference

namespace cpu {
std::span<const ScanForwardVariant> ScanForwardVariants();
std::span<const StateUpdateVariant> StateUpdateVariants();
std::span<const CausalConv1dForwardVariant> CausalConv1dForwardVariants();
std::span<const CausalConv1dUpdateVariant> CausalConv1dUpdateVariants();
std::span<const RmsNormGatedForwardVariant> RmsNormGatedForwardVariants();
// Probed once.
const CpuFacts& Facts();
}  // namespace cpu

// The backend "cuda", in three parts. No rows in a build without CUDA.
namespace cuda {
std::span<const StateUpdateVariant> StateUpdateVariants();
std::span<const CausalConv1dForwardVariant> CausalConv1dForwardVariants();
std::span<const CausalConv1dUpdateVariant> CausalConv1dUpdateVariants();
std::span<const RmsNormGatedForwardVariant> RmsNormGatedForwardVariants();
// Probed once for each GPU.
const CudaFacts& Facts();
// Calls body with a GPU as the calling thread's current one; -1: the one that is.
Status WithDevice(int32_t device, Status (*body)());
// A plan::ReadDevice of the current GPU. Refused while the stream is being captured.
Status ReadDevice(void* to, const void* from, size_t num_bytes, void* stream);
}  // namespace cuda
namespace tile {
std::span<const ScanForwardVariant> ScanForwardVariants();
}  // namespace tile
namespace hopper {
std::span<const ScanForwardVariant> ScanForwardVariants();
}  // namespace hopper

}  // namespace tilescan

#endif  // TILESCAN_PLAN_VARIANT_H_
