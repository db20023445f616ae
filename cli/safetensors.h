// Reads and writes safetensors files: 8 bytes of header size (little endian), a JSON header, the
// tensors' bytes. Format: the README of the public safetensors project, section "Format".
#ifndef TILESCAN_CLI_SAFETENSORS_H_
#define TILESCAN_CLI_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/mapped_file.h"
#include "tilescan/tilescan.h"

namespace tilescan::cli {

// The limit of the public implementation, so that no header can exhaust memory.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

struct SafetensorsEntry {
  std::string name;
  tilescan_dtype dtype{};
  std::vector<int64_t> shape;  // at most TILESCAN_MAX_NDIM
  uint64_t begin = 0;          // bytes from the start of the file
  uint64_t end = 0;
};

struct SafetensorsContent {
  std::map<std::string, SafetensorsEntry> tensors;
  std::map<std::string, std::string> metadata;
};

// Parses and checks a whole file held in memory: every entry's [begin, end) lies in the file, has
// the size of its shape and dtype, and together they cover the data without overlap or hole. Throws
// Error with file_name, and the tensor where there is one, if anything is wrong.
SafetensorsContent ParseSafetensors(std::span<const std::byte> file, const std::string& file_name);

// A file opened for reading.
class SafetensorsFile {
 public:
  // Throws Error if the file cannot be read or is malformed.
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return path_; }
  const SafetensorsContent& content() const { return content_; }

  // A view of a tensor, compact and aligned to its element, valid as long as this object; absent
  // (all zero) if the file has no such tensor. Where the file does not align a tensor to its
  // element, which the format allows, the view is of a copy. The memory must not be written.
  tilescan_tensor Tensor(const std::string& name);

 private:
  std::string path_;
  MappedFile mapped_;
  SafetensorsContent content_;
  std::map<std::string, std::unique_ptr<std::byte[]>> aligned_copies_;
};

struct NamedTensor {
  std::string name;
  tilescan_tensor tensor;  // compact
};

// Writes a file with these tensors, whole or not at all. Throws Error if it cannot.
void WriteSafetensors(const std::string& path, std::vector<NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata);

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_SAFETENSORS_H_
