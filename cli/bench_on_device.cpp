// A backend that computes on a GPU: its operands are copied there once, and its calls timed there.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "cli/bench_contender.h"
#include "cli/dtype.h"
#include "testing/device_copy.h"
#include "testing/device_replay.h"

namespace tilescan::cli {
namespace {

// Short samples: a GPU under load slows down.
constexpr int64_t kSampleCalls = 40;
constexpr int64_t kFewestCalls = 3;
constexpr double kMostSampleSeconds = 0.1;

// States of the layers of a model, on the GPU: so many that between two visits of one more bytes
// pass than the cache holds, several times over.
class DeviceLayers {
 public:
  // From a compact state on the GPU.
  explicit DeviceLayers(const tilescan_tensor& state) {
    constexpr int64_t kTimesTheCache = 4;
    constexpr int64_t kMinLayers = 3;
    constexpr int64_t kAlignment = 256;
    const auto state_bytes = static_cast<int64_t>(TensorBytes(state).value());
    const auto cache_bytes = DescribeLibrary().at("cuda").at("l2_cache_bytes").get<int64_t>();
    pitch_bytes_ = (state_bytes + kAlignment - 1) / kAlignment * kAlignment;
    num_layers_ = std::max(kMinLayers, kTimesTheCache * cache_bytes / state_bytes + 1);
    memory_ =
        testing::AllocateOnDevice(static_cast<size_t>(num_layers_ * pitch_bytes_), std::byte{0});
    for (int64_t layer_idx = 0; layer_idx < num_layers_; ++layer_idx) {
      testing::EnqueueDeviceCopy(layer(layer_idx), static_cast<const std::byte*>(state.data),
                                 static_cast<size_t>(state_bytes), nullptr);
    }
    testing::SynchronizeDevice();
  }

  int64_t num_layers() const { return num_layers_; }
  std::byte* layer(int64_t layer_idx) const { return memory_.get() + layer_idx * pitch_bytes_; }

 private:
  testing::DeviceMemory memory_;
  int64_t num_layers_ = 0;
  int64_t pitch_bytes_ = 0;
};

class DeviceContender : public Contender {
 public:
  DeviceContender(Plan plan, nlohmann::ordered_json description, BenchWorkload* workload)
      : Contender(std::move(plan), std::move(description), workload),
        args_(FirstArgs(workload)),
        host_(HostTensors(args_)),
        operands_(std::visit([](auto& any) { return testing::TensorsOf(&any); }, args_)),
        workspace_(
            testing::AllocateOnDevice(std::max<size_t>(workspace_bytes(), 1), std::byte{0xff})) {
    const auto* update = std::get_if<tilescan_state_update_args>(&args_);
    if (update != nullptr) layers_.emplace(update->state);
  }

  void RunFirst() override {
    FirstArgs(&workload());  // so that it is where the outputs go
    RunPlan(plan(), args_, workspace_.get(), workspace_bytes());
    operands_.Download(host_);
  }

 private:
  static OperationArgs FirstArgs(BenchWorkload* workload) {
    workload->Restart();
    return *workload->Next();
  }

  static std::vector<tilescan_tensor> HostTensors(OperationArgs args) {
    std::vector<tilescan_tensor> tensors;
    const auto pointers = std::visit([](auto& any) { return testing::TensorsOf(&any); }, args);
    for (const tilescan_tensor* tensor : pointers) tensors.push_back(*tensor);
    return tensors;
  }

  // Of a decoding step each call is of the next layer.
  std::unique_ptr<testing::DeviceReplay> Record(int64_t num_calls) {
    return std::make_unique<testing::DeviceReplay>([&](void* stream) {
      OperationArgs args = args_;
      for (int64_t call = 0; call < num_calls; ++call) {
        if (layers_) {
          std::get<tilescan_state_update_args>(args).state.data =
              layers_->layer(call % layers_->num_layers());
        }
        RunPlan(plan(), args, workspace_.get(), workspace_bytes(), stream);
      }
    });
  }

  int64_t CountCalls() {
    if (layers_) {  // whole passes over the layers, so that the next replay begins with a cold one
      const int64_t num_layers = layers_->num_layers();
      return num_layers * ((kSampleCalls + num_layers - 1) / num_layers);
    }
    const double most = kMostSampleSeconds / Record(1)->Time();
    return std::clamp(static_cast<int64_t>(std::min(most, 1e9)), kFewestCalls, kSampleCalls);
  }

  testing::Sample Sample() override {
    if (!replay_) {
      num_calls_ = CountCalls();
      replay_ = Record(num_calls_);
    }
    testing::Sample sample;
    sample.seconds = replay_->Time() / static_cast<double>(num_calls_);
    sample.cpu_share = 1.0;
    sample.is_clean = true;  // nothing here can tell whether others use the GPU
    return sample;
  }

  OperationArgs args_;  // on the GPU once operands_ is there
  std::vector<tilescan_tensor> host_;
  testing::DeviceCopy operands_;
  testing::DeviceMemory workspace_;
  std::optional<DeviceLayers> layers_;  // of state_update
  std::unique_ptr<testing::DeviceReplay> replay_;
  int64_t num_calls_ = 0;  // of a sample
};

}  // namespace

std::unique_ptr<Contender> MakeDeviceContender(Plan plan, nlohmann::ordered_json description,
                                               BenchWorkload* workload) {
  return std::make_unique<DeviceContender>(std::move(plan), std::move(description), workload);
}

}  // namespace tilescan::cli
