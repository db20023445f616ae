#include <cuda_runtime_api.h>

#include <chrono>
#include <thread>

#include "testing/device_error.h"
#include "testing/device_replay.h"

namespace tilescan::testing {
namespace {

constexpr std::chrono::milliseconds kPause(100);

}  // namespace

struct DeviceReplay::Graph {
  cudaStream_t stream = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;

  ~Graph() {
    if (end != nullptr) cudaEventDestroy(end);
    if (begin != nullptr) cudaEventDestroy(begin);
    if (executable != nullptr) cudaGraphExecDestroy(executable);
    if (stream != nullptr) cudaStreamDestroy(stream);
  }

  // The stream is capturing; the graph is the caller's then, null if the capture failed.
  cudaGraph_t EndCapture(cudaError_t* error) const {
    cudaGraph_t captured = nullptr;
    *error = cudaStreamEndCapture(stream, &captured);
    return captured;
  }

  void Capture(const std::function<void(void*)>& enqueue) {
    ThrowUnlessOk(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal),
                  "beginning a capture");
    cudaError_t error = cudaSuccess;
    try {
      enqueue(stream);
    } catch (...) {
      cudaGraph_t captured = EndCapture(&error);
      if (captured != nullptr) cudaGraphDestroy(captured);
      throw;
    }
    cudaGraph_t captured = EndCapture(&error);
    ThrowUnlessOk(error, "ending a capture");
    error = cudaGraphInstantiate(&executable, captured, 0);
    cudaGraphDestroy(captured);
    ThrowUnlessOk(error, "instantiating a graph");
  }

  void Launch() const { ThrowUnlessOk(cudaGraphLaunch(executable, stream), "launching a graph"); }
  void Wait() const { ThrowUnlessOk(cudaStreamSynchronize(stream), "waiting for the GPU"); }
};

DeviceReplay::DeviceReplay(const std::function<void(void*)>& enqueue)
    : graph_(std::make_unique<Graph>()) {
  ThrowUnlessOk(cudaStreamCreateWithFlags(&graph_->stream, cudaStreamNonBlocking),
                "creating a stream");
  ThrowUnlessOk(cudaEventCreate(&graph_->begin), "creating an event");
  ThrowUnlessOk(cudaEventCreate(&graph_->end), "creating an event");
  graph_->Capture(enqueue);
}

DeviceReplay::~DeviceReplay() = default;

void DeviceReplay::Run() const {
  graph_->Launch();
  graph_->Wait();
}

double DeviceReplay::Time() const {
  std::this_thread::sleep_for(kPause);
  graph_->Launch();
  ThrowUnlessOk(cudaEventRecord(graph_->begin, graph_->stream), "recording an event");
  graph_->Launch();
  ThrowUnlessOk(cudaEventRecord(graph_->end, graph_->stream), "recording an event");
  graph_->Wait();
  float milliseconds = 0.0f;
  ThrowUnlessOk(cudaEventElapsedTime(&milliseconds, graph_->begin, graph_->end),
                "reading the events");
  return 1e-3 * static_cast<double>(milliseconds);
}

}  // namespace tilescan::testing
