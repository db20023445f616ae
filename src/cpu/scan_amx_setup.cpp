#include "cpu/scan_amx_setup.h"

#include "cpu/scan_amx.h"

namespace tilescan::cpu {
namespace {

// More would leave less of the second-level cache to the heads, fewer would make the threads wait
// for each other more often.
constexpr int64_t kChunksPerBlock = 8;

// Rows for each thread from which on each takes whole ones.
constexpr int64_t kRowsPerThread = 4;

}  // namespace

RowBuffers RowBuffers::Take(Carver& carver, const AmxShape& shape, const ScanSizes& sizes) {
  RowBuffers buffers;
  const int64_t num_groups = sizes.ngroups * shape.chunks_per_block;
  buffers.groups = carver.Take<AmxGroupBuffers>(num_groups);
  // One by one only when they are carved: a count needs no loop.
  if (buffers.groups == nullptr) {
    Carver counter;
    AmxGroupBuffers::Take(counter, shape);
    carver.Take<std::byte>(static_cast<int64_t>(counter.used_bytes()), num_groups);
  } else {
    for (int64_t idx = 0; idx < num_groups; ++idx) {
      buffers.groups[idx] = AmxGroupBuffers::Take(carver, shape);
    }
  }
  buffers.states = carver.Take<float>(sizes.nheads, shape.state_elements());
  return buffers;
}

int64_t AmxSetup::RowBytes() const {
  Carver counter;
  RowBuffers::Take(counter, shape, problem->sizes);
  return static_cast<int64_t>(counter.used_bytes());
}

int64_t AmxSetup::ThreadBytes() const {
  Carver counter;
  AmxThreadBuffers::Take(counter, shape);
  return static_cast<int64_t>(counter.used_bytes());
}

size_t AmxSetup::WorkspaceBytes() const {
  Carver counter;
  counter.Take<std::byte>(RowBytes(), NumRowBuffers());
  counter.Take<std::byte>(ThreadBytes(), schedule.num_threads);
  return counter.required_bytes();
}

RowBuffers AmxSetup::Row(void* workspace, int32_t row_buffers_idx) const {
  Carver carver(workspace);
  carver.Take<std::byte>(RowBytes() * row_buffers_idx);
  return RowBuffers::Take(carver, shape, problem->sizes);
}

AmxThreadBuffers AmxSetup::Thread(void* workspace, int32_t thread_idx) const {
  Carver carver(workspace);
  carver.Take<std::byte>(RowBytes() * NumRowBuffers() + ThreadBytes() * thread_idx);
  return AmxThreadBuffers::Take(carver, shape);
}

AmxSetup MakeAmxSetup(const ScanForwardProblem& problem, const ScanAmxSteps& steps,
                      const Schedule& schedule) {
  AmxSetup setup;
  setup.problem = &problem;
  setup.steps = &steps;
  setup.shape = steps.shape(schedule.chunk_size, problem.sizes.headdim, problem.sizes.dstate);
  setup.shape.chunks_per_block = kChunksPerBlock;
  setup.schedule = schedule;
  setup.by_rows = problem.sizes.num_seqs >= kRowsPerThread * schedule.num_threads;
  const TensorView& out = problem.operands.out;
  const int64_t out_bytes = out.num_elements() * ElementBytes(out.dtype);
  // Writing an out past the caches that they could not hold anyway saves reading its lines first:
  // docs/performance.md has what it gained.
  const int64_t cache_bytes = Facts().l2_cache_bytes;  // 0: not known
  setup.past_caches = cache_bytes > 0 && out_bytes > cache_bytes;
  return setup;
}

std::string ReasonAgainstMatrixUnit(const ScanForwardProblem& problem) {
  const ScanForwardOperands& operands = problem.operands;
  if (operands.x.dtype != DType::kBFloat16 || operands.B.dtype != DType::kBFloat16) {
    return "it multiplies bf16 x, B and C only";
  }
  return "";
}

size_t ScanAmxWorkspaceBytes(const ScanForwardProblem& problem, const ScanAmxSteps& steps,
                             const Schedule& schedule) {
  return MakeAmxSetup(problem, steps, schedule).WorkspaceBytes();
}

}  // namespace tilescan::cpu
