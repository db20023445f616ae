// Feeds the safetensors reader with arbitrary bytes: it must refuse or accept, never read outside
// the file, and what it accepts must lie inside it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "cli/dtype.h"
#include "cli/error.h"
#include "cli/safetensors.h"
#include "cli/safetensors_header.h"

namespace {

using tilescan::cli::Error;

void Require(bool condition) {
  if (!condition) std::abort();
}

void ParseFile(std::span<const std::byte> file) {
  try {
    const tilescan::cli::SafetensorsContent content =
        tilescan::cli::ParseSafetensors(file, "fuzzed");
    size_t tensor_bytes = 0;
    for (const auto& [name, entry] : content.tensors) {
      Require(name == entry.name);
      Require(entry.begin <= entry.end && entry.end <= file.size());
      Require(entry.shape.size() <= TILESCAN_MAX_NDIM);
      Require(tilescan::cli::FindDType(entry.dtype) != nullptr);
      tensor_bytes += entry.end - entry.begin;
    }
    // No two tensors overlap, and the header's size comes before all.
    Require(tensor_bytes + sizeof(uint64_t) <= file.size());
  } catch (const Error&) {
  }
}

// A file whose header is the text and whose data are some zeros: reaches the checks behind the
// header's size without having to guess it.
void ParseAsHeader(std::span<const std::byte> text) {
  constexpr size_t kDataBytes = 64;
  const uint64_t header_bytes = text.size();
  std::vector<std::byte> file(sizeof(header_bytes) + text.size() + kDataBytes);
  std::memcpy(file.data(), &header_bytes, sizeof(header_bytes));
  if (!text.empty()) std::memcpy(file.data() + sizeof(header_bytes), text.data(), text.size());
  ParseFile(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  ParseFile(bytes);
  ParseAsHeader(bytes);
  return 0;
}
