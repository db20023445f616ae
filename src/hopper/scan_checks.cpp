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
  if (sizes.headdim != kScanHeaddim) {
    return "headdim is " + std::to_string(sizes.headdim) + ", expected " +
           std::to_string(kScanHeaddim);
  }
  if (sizes.dstate != kScanDstate) {
    return "dstate is " + std::to_string(sizes.dstate) + ", expected " +
           std::to_string(kScanDstate);
  }
  if (sizes.batch == 0 || sizes.seqlen == 0 || sizes.nheads == 0) return "there is nothing to scan";
  if (sizes.seqlen > kMostTokens || NumCBTiles(sizes) > kMostTokens / kTileRows ||
      sizes.batch * sizes.nheads > kMostTokens) {
    return "there are more than 2^30 tokens, or heads of all rows";
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

}  // namespace

std::string ReasonAgainstScan(const ScanForwardProblem& problem) {
  std::string reason = ReasonAgainstSizes(problem.sizes);
  return reason.empty() ? ReasonAgainstOperands(problem.operands) : reason;
}

}  // namespace tilescan::hopper
