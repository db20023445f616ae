#include "cli/output_memory.h"

#include <cstring>
#include <optional>

#include "cli/dtype.h"
#include "cli/error.h"

namespace tilescan::cli {

OutputMemory::OutputMemory(OperationArgs* args) {
  for (const Operand& output : OutputOperands(args)) {
    tilescan_tensor& tensor = *output.tensor;
    if (!IsPresent(tensor)) continue;
    const std::optional<int64_t> num_bytes = TensorBytes(tensor);
    if (!num_bytes) {
      throw Error(
          Concat(output.name, " would have shape ", ShapeText(tensor), ", whose size overflows"));
    }
    const Buffer& buffer = buffers_.emplace_back(static_cast<size_t>(*num_bytes));
    if (tensor.data != nullptr) copies_.push_back({tensor.data, buffer.data(), buffer.num_bytes()});
    tensor.data = buffer.data();
    tensors_.push_back({output.name, tensor});
  }
  Restore();
}

void OutputMemory::Restore() {
  for (const Copy& copy : copies_) std::memcpy(copy.output, copy.input, copy.num_bytes);
}

}  // namespace tilescan::cli
