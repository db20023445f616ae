// What the streaming scan takes.
#include <cstdint>
#include <string>

#include "hopper/masked_cb.h"
#include "hopper/scan_config.h"
#include "hopper/scan_forward.h"
#include "hopper/tensor_maps.h"

namespace tilescan::hopper {
namespace {

// Positions of tokens, and rows of CB, are int32, with room for a few chunks behind the last.
constexpr int64_t kMostTokens = int64_t{1} << 30;

struct Named {
  const char* name;
  const TensorView* view;
};

std::string ReasonAgainstSizes(const ScanSizes& sizes) {
  if (sizes.headdim < kLeastHeaddim || sizes.headdim % kWarpRows != 0) {
    return "headdim is " + std::to_string(sizes.headdim) + ", expected a multiple of " +
           std::to_string(kWarpRows) + " from " + std::to_string(kLeastHeaddim) + " on";
  }
  if (sizes.dstate != 64 && sizes.dstate != 128 && sizes.dstate != 256) {
    return "dstate is " + std::to_string(sizes.dstate) + ", expected 64, 128 or 256";
  }
  if (sizes.batch == 0 || sizes.seqlen == 0 || sizes.nheads == 0) return "there is nothing to scan";
  if (sizes.seqlen > kMostTokens || NumCBTiles(sizes) > kMostTokens / kTileRows ||
      sizes.batch * sizes.nheads > kMostTokens / sizes.headdim) {
    return "there are more than 2^30 tokens, or channels of all heads";
  }
  return "";
}

std::string ReasonAgainstOperands(const ScanForwardOperands& o) {
  const Named absent[] = {
      {"seq_idx", &o.seq_idx}, {"cu_seqlens", &o.cu_seqlens}, {"states_out", &o.states_out}};
  for (const Named& operand : absent) {
    if (operand.view->present()) return std::string(operand.name) + " is present";
  }
  const Named tiled[] = {{"x", &o.x}, {"B", &o.B}, {"C", &o.C}, {"z", &o.z}, {"out", &o.out}};
  for (const Named& operand : tiled) {
    if (!operand.view->present()) continue;
    if (operand.view->dtype != DType::kBFloat16) {
      return std::string(operand.name) + " is " + DTypeName(operand.view->dtype) +
             ", expected bfloat16";
    }
    std::string reason = ReasonAgainstTiles(operand.name, *operand.view);
    if (!reason.empty()) return reason;
  }
  return "";
}

// Heads of another size than a row block's are taken apart, or together, as if they were one.
std::string ReasonAgainstHeads(const ScanSizes& sizes, const ScanForwardOperands& o) {
  if (sizes.headdim == kBlockRows || sizes.nheads == 1) return "";
  const Named operands[] = {{"x", &o.x}, {"z", &o.z}, {"out", &o.out}};
  for (const Named& operand : operands) {
    if (!operand.view->present() || operand.view->strides[2] == sizes.headdim) continue;
    return std::string(operand.name) + "'s heads have stride " +
           std::to_string(operand.view->strides[2]) + ", expected headdim, " +
           std::to_string(sizes.headdim);
  }
  return "";
}

}  // namespace

std::string ReasonAgainstScan(const ScanForwardProblem& problem) {
  std::string reason = ReasonAgainstSizes(problem.sizes);
  if (reason.empty()) reason = ReasonAgainstOperands(problem.operands);
  return reason.empty() ? ReasonAgainstHeads(problem.sizes, problem.operands) : reason;
}

}  // namespace tilescan::hopper
