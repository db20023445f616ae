#include "tile/bf16_checks.h"

#include <initializer_list>
#include <limits>

#include "core/float64.h"
#include "tile/scan_stages.h"

namespace tilescan::tile {
namespace {

constexpr int64_t kTileSize = kChunkTile;
constexpr int64_t kVector = 8;  // elements
// Kernels have 32-bit indices, and where there is no TMA 32-bit offsets.
constexpr int64_t kMostElements = std::numeric_limits<int32_t>::max();

struct Named {
  const char* name;
  const TensorView& view;
};

// The operand in tiles that TMA can load.
std::string ReasonAgainstRows(const Named& operand) {
  const TensorView& view = operand.view;
  const std::string name = operand.name;
  if (view.dtype != DType::kBFloat16) {
    return name + " is " + DTypeName(view.dtype) + ", expected bfloat16";
  }
  if (!view.is_aligned) return name + " is not aligned to 16 bytes";
  if (view.strides[3] != 1) return "the last dimension of " + name + " is not compact";
  int64_t last = view.shape[3] - 1;
  for (int dim = 0; dim < 3; ++dim) {
    if (view.shape[dim] <= 1) continue;
    const int64_t stride = view.strides[dim];
    if (stride <= 0 || stride % kVector != 0) {
      return "strides[" + std::to_string(dim) + "] of " + name + " is " + std::to_string(stride) +
             ", expected a positive multiple of 8";
    }
    if (stride > kMostElements || view.shape[dim] > kMostElements ||
        (last += (view.shape[dim] - 1) * stride) > kMostElements) {
      return name + " spans 2^31 elements or more";
    }
  }
  return "";
}

std::string ReasonAgainstSizes(const ScanForwardProblem& problem) {
  const ScanSizes& sizes = problem.sizes;
  if (sizes.headdim <= 0 || sizes.headdim % kVector != 0) {
    return "headdim is " + std::to_string(sizes.headdim) + ", expected a multiple of 8";
  }
  if (sizes.dstate <= 0 || sizes.dstate % kVector != 0) {
    return "dstate is " + std::to_string(sizes.dstate) + ", expected a multiple of 8";
  }
  if (sizes.dstate > kMostStates) {
    return "dstate is " + std::to_string(sizes.dstate) + ", expected at most 256";
  }
  const int64_t every = problem.operands.states_every;
  if (problem.operands.states_out.present() && every <= sizes.seqlen && every % kTileSize != 0) {
    return "states_every is " + std::to_string(every) + ", expected a multiple of 64";
  }
  return "";
}

double Product(std::initializer_list<int64_t> factors) {
  double product = 1.0;
  for (const int64_t factor : factors) product *= static_cast<double>(factor);
  return product;
}

// Whether 32-bit indices reach all steps, and all states that the caller gives or asks for. With
// the reach of out, that bounds the programs too: each has its own steps, outs or states.
bool HasRoom(const ScanForwardProblem& problem) {
  constexpr double kMost = static_cast<double>(kMostElements);
  const ScanSizes& sizes = problem.sizes;
  const TensorView& states_out = problem.operands.states_out;
  return Product({NumSlots(sizes), sizes.nheads, kTokenRows * kTileSize}) <= kMost &&
         Product({NumSlots(sizes), sizes.ngroups, kTileSize, kTileSize}) <= kMost &&
         Product({sizes.batch, sizes.nheads, sizes.headdim, sizes.dstate}) <= kMost &&
         (!states_out.present() || states_out.num_elements() <= kMostElements);
}

// What stands against both forms.
std::string ReasonAgainstBf16(const ScanForwardProblem& problem) {
  const ScanForwardOperands& o = problem.operands;
  std::string reason = ReasonAgainstFloat64(o.x);
  if (reason.empty() && o.seq_idx.present()) reason = "seq_idx is present";
  if (reason.empty() && o.cu_seqlens.present()) reason = "cu_seqlens is present";
  if (reason.empty()) reason = ReasonAgainstSizes(problem);
  for (const Named& operand :
       {Named{"x", o.x}, Named{"B", o.B}, Named{"C", o.C}, Named{"z", o.z}, Named{"out", o.out}}) {
    if (reason.empty() && operand.view.present()) reason = ReasonAgainstRows(operand);
  }
  if (reason.empty() && !HasRoom(problem)) {
    reason = "there are 2^31 steps, or elements of states, or more";
  }
  return reason;
}

}  // namespace

int64_t NumSlots(const ScanSizes& sizes) { return sizes.batch * CeilDiv(sizes.seqlen, kTileSize); }

std::string ReasonAgainstStagesTiles(const ScanForwardProblem& problem, const DeviceFacts& facts) {
  std::string reason = facts.cuda().reason_against;
  if (reason.empty()) reason = ReasonAgainstBf16(problem);
  const ScanSizes& sizes = problem.sizes;
  if (reason.empty() && Product({NumSlots(sizes), sizes.nheads, sizes.headdim, sizes.dstate}) >
                            static_cast<double>(kMostElements)) {
    reason = "the states of all chunks are 2^31 elements or more";
  }
  return reason;
}

std::string ReasonAgainstStreamTiles(const ScanForwardProblem& problem, const DeviceFacts& facts) {
  std::string reason = facts.cuda().reason_against;
  if (reason.empty()) reason = ReasonAgainstBf16(problem);
  if (reason.empty() && problem.operands.states_out.present()) reason = "states_out is present";
  if (reason.empty() && problem.sizes.dstate > kMostStatesOfStream) {
    reason = "dstate is " + std::to_string(problem.sizes.dstate) + ", expected at most 128";
  }
  return reason;
}

}  // namespace tilescan::tile
