#include "cli/bench_workload.h"

#include <cstring>
#include <variant>

#include "cli/dtype.h"

namespace tilescan::cli {
namespace {

DType ToTesting(const tilescan_dtype& dtype) {
  for (const DType candidate : {DType::kFloat64, DType::kBFloat16, DType::kFloat16}) {
    if (SameDType(testing::ToPublic(candidate), dtype)) return candidate;
  }
  return DType::kFloat32;
}

// All ones are NaN in every float dtype.
void FillWithNan(const testing::HostTensor& tensor) {
  if (tensor.num_elements() == 0) return;
  const auto num_bytes = static_cast<size_t>(tensor.num_elements() * ElementBytes(tensor.dtype()));
  std::memset(tensor.view().data, 0xff, num_bytes);
}

}  // namespace

std::string BenchCase::Name() const {
  return operation == Operation::kScanForward
             ? testing::ScanCaseName(*preset, batch, seqlen)
             : testing::StateUpdateCaseName(*preset, batch, /*is_cold=*/true);
}

testing::WorkloadDTypes BenchCase::DTypes() const {
  return {ToTesting(dtype), ToTesting(state_dtype)};
}

BenchWorkload::BenchWorkload(const BenchCase& bench_case, int64_t num_layers) {
  const testing::WorkloadDTypes dtypes = bench_case.DTypes();
  if (bench_case.operation == Operation::kScanForward) {
    scan_ = testing::ScanWorkload(*bench_case.preset, bench_case.batch, bench_case.seqlen, dtypes);
    args_ = testing::MakeArgs(scan_);
  } else {
    update_ = testing::StateUpdateWorkload(*bench_case.preset, bench_case.batch, dtypes);
    args_ = testing::MakeArgs(update_);
    const double state_bytes =
        testing::StateBytes(*bench_case.preset, bench_case.batch, dtypes.states);
    if (num_layers == 0) num_layers = testing::NumLayersBeyondCaches(state_bytes);
    states_.emplace(update_.state, num_layers);
  }
}

OperationArgs* BenchWorkload::Next() {
  if (states_) {
    std::get<tilescan_state_update_args>(args_).state.data = states_->layer(layer_idx_);
    layer_idx_ = (layer_idx_ + 1) % states_->num_layers();
  }
  return &args_;
}

void BenchWorkload::Restart() {
  // Nothing is taken for a contender's that one before it has written.
  if (!states_) {
    FillWithNan(scan_.out);
    FillWithNan(scan_.final_states);
    return;
  }
  FillWithNan(update_.out);
  const auto state_bytes =
      static_cast<size_t>(TensorBytes(std::get<tilescan_state_update_args>(args_).state).value());
  std::memcpy(states_->layer(0), update_.state.view().data, state_bytes);
  layer_idx_ = 0;
}

testing::Errors BenchWorkload::OutputErrors(const std::string& what) const {
  if (!states_) return testing::ErrorsOnPart(what, scan_, scan_.out, scan_.final_states);
  const testing::HostTensor& before = update_.state;
  const testing::HostTensor state(before.dtype(), before.shape());
  const auto num_bytes = static_cast<size_t>(state.num_elements() * ElementBytes(state.dtype()));
  std::memcpy(state.view().data, states_->layer(0), num_bytes);
  return testing::ErrorsOnPart(what, update_, update_.out, state);
}

OutputCopies BenchWorkload::CopyOutputs() {
  OutputCopies copies;
  for (const Operand& output : OutputOperands(&args_)) {
    tilescan_tensor tensor = *output.tensor;
    if (!IsPresent(tensor)) continue;
    const Buffer& buffer =
        copies.buffers.emplace_back(static_cast<size_t>(TensorBytes(tensor).value()));
    std::memcpy(buffer.data(), tensor.data, buffer.num_bytes());
    tensor.data = buffer.data();
    copies.tensors.push_back({output.name, tensor});
  }
  return copies;
}

}  // namespace tilescan::cli
