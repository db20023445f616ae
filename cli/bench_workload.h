// The operands of a benchmark case, with their memory.
#ifndef TILESCAN_CLI_BENCH_WORKLOAD_H_
#define TILESCAN_CLI_BENCH_WORKLOAD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/buffer.h"
#include "cli/operands.h"
#include "cli/options.h"
#include "cli/safetensors.h"
#include "testing/check_result.h"
#include "testing/layer_states.h"
#include "testing/operands.h"
#include "testing/presets.h"
#include "testing/workload.h"

namespace tilescan::cli {

struct BenchCase {
  const testing::ModelPreset* preset = nullptr;
  Operation operation = Operation::kScanForward;
  int64_t batch = 1;
  int64_t seqlen = 1;
  tilescan_dtype dtype{};
  tilescan_dtype state_dtype{};

  std::string Name() const;
  testing::WorkloadDTypes DTypes() const;
};

// Copies of outputs.
struct OutputCopies {
  std::vector<Buffer> buffers;
  std::vector<NamedTensor> tensors;
};

class BenchWorkload {
 public:
  // num_layers: of the states of a decoding step; 0: so many that each comes from memory.
  BenchWorkload(const BenchCase& bench_case, int64_t num_layers);
  BenchWorkload(const BenchWorkload&) = delete;
  BenchWorkload& operator=(const BenchWorkload&) = delete;

  // The args of the next call; of a decoding step, with the state of the next layer.
  OperationArgs* Next();
  // The first layer again, with its state as it was.
  void Restart();

  OutputCopies CopyOutputs();
  // Of the outputs of one call from the beginning, against the float64 recurrence: see
  // testing/check_result.h.
  testing::Errors OutputErrors(const std::string& what) const;

 private:
  testing::ScanOperands scan_;
  testing::StateUpdateOperands update_;
  OperationArgs args_;
  std::optional<testing::LayerStates> states_;  // of state_update
  int64_t layer_idx_ = 0;
};

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_BENCH_WORKLOAD_H_
