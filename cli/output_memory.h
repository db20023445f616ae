// The memory of an operation's outputs.
#ifndef TILESCAN_CLI_OUTPUT_MEMORY_H_
#define TILESCAN_CLI_OUTPUT_MEMORY_H_

#include <cstddef>
#include <vector>

#include "cli/buffer.h"
#include "cli/operands.h"
#include "cli/safetensors.h"

namespace tilescan::cli {

// Zeroed memory for every output that the args describe; the args' outputs point to it. Where an
// output is an input as well (state), it holds a copy of the input, which itself stays unwritten.
class OutputMemory {
 public:
  // Throws Error if an output's size overflows, std::bad_alloc if there is no memory.
  explicit OutputMemory(OperationArgs* args);

  // Puts what was copied from inputs back, for another run.
  void Restore();

  // The outputs by name, in the order of the args.
  const std::vector<NamedTensor>& tensors() const { return tensors_; }

 private:
  struct Copy {
    const void* input;
    std::byte* output;
    size_t num_bytes;
  };
  std::vector<Buffer> buffers_;
  std::vector<Copy> copies_;
  std::vector<NamedTensor> tensors_;
};

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_OUTPUT_MEMORY_H_
