#include "cli/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/dtype.h"
#include "cli/error.h"
#include "cli/output_file.h"
#include "cli/safetensors_header.h"

namespace tilescan::cli {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little endian");

constexpr uint64_t kSizeBytes = 8;

tilescan_tensor ViewOf(const SafetensorsEntry& entry, const std::byte* data) {
  // The view's type is the same for inputs and outputs; operands that are read stay unwritten.
  return tilescan_contiguous(const_cast<std::byte*>(data), entry.dtype,
                             static_cast<int32_t>(entry.shape.size()), entry.shape.data());
}

// The entries must have the size of their shapes and tile [0, data_bytes).
void CheckRanges(const SafetensorsContent& content, uint64_t data_bytes, const std::string& where) {
  std::vector<const SafetensorsEntry*> in_order;
  for (const auto& [name, entry] : content.tensors) {
    const std::string tensor = Concat(where, ": tensor ", Quote(name));
    if (entry.end > data_bytes) {
      throw Error(Concat(tensor, " ends at byte ", entry.end, " of the data, but the file has ",
                         data_bytes, " bytes of data"));
    }
    const tilescan_tensor view = ViewOf(entry, nullptr);
    const std::optional<int64_t> bytes = TensorBytes(view);
    if (!bytes) {
      throw Error(Concat(tensor, " has shape ", ShapeText(view), ", whose size overflows"));
    }
    if (entry.end - entry.begin != static_cast<uint64_t>(*bytes)) {
      throw Error(Concat(tensor, " of dtype ", FindDType(entry.dtype)->safetensors, " and shape ",
                         ShapeText(view), " takes ", *bytes, " bytes, but has data_offsets [",
                         entry.begin, ", ", entry.end, "]"));
    }
    in_order.push_back(&entry);
  }
  std::sort(in_order.begin(), in_order.end(), [](const auto* left, const auto* right) {
    return std::pair(left->begin, left->end) < std::pair(right->begin, right->end);
  });
  uint64_t covered = 0;
  for (const SafetensorsEntry* entry : in_order) {
    if (entry->begin < covered) {
      throw Error(Concat(where, ": tensor ", Quote(entry->name), " begins at byte ", entry->begin,
                         " of the data, inside another tensor"));
    }
    if (entry->begin > covered) {
      throw Error(Concat(where, ": bytes [", covered, ", ", entry->begin,
                         ") of the data, before tensor ", Quote(entry->name),
                         ", belong to no tensor"));
    }
    covered = entry->end;
  }
  if (covered != data_bytes) {
    throw Error(Concat(where, ": the last ", data_bytes - covered,
                       " bytes of the file belong to no tensor"));
  }
}

}  // namespace

SafetensorsContent ParseSafetensors(std::span<const std::byte> file, const std::string& file_name) {
  const std::string where = Concat(file_name, ": not a valid safetensors file");
  if (file.size() < kSizeBytes) {
    throw Error(Concat(where, ": ", file.size(), " bytes, too short for the header's size"));
  }
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.data(), kSizeBytes);
  if (header_bytes > kMaxHeaderBytes) {
    throw Error(Concat(where, ": a header of ", header_bytes, " bytes, at most ", kMaxHeaderBytes,
                       " are allowed"));
  }
  const uint64_t rest_bytes = file.size() - kSizeBytes;
  if (header_bytes > rest_bytes) {
    throw Error(Concat(where, ": a header of ", header_bytes, " bytes in a file of ", file.size(),
                       " bytes"));
  }
  const std::string_view header(reinterpret_cast<const char*>(file.data()) + kSizeBytes,
                                header_bytes);
  if (!header.starts_with('{')) throw Error(Concat(where, ": the header does not begin with '{'"));

  // The JSON parser takes a zero byte for the end of the text, and would not look at what follows.
  const size_t zero_idx = header.find('\0');
  if (zero_idx != std::string_view::npos) {
    throw Error(Concat(where, ": the header has a zero byte, at its byte ", zero_idx));
  }

  SafetensorsContent content = ParseSafetensorsHeader(header, where);
  CheckRanges(content, rest_bytes - header_bytes, where);
  for (auto& [name, entry] : content.tensors) {
    entry.begin += kSizeBytes + header_bytes;
    entry.end += kSizeBytes + header_bytes;
  }
  return content;
}

SafetensorsFile::SafetensorsFile(const std::string& path)
    : path_(path), mapped_(path), content_(ParseSafetensors(mapped_.bytes(), path)) {}

tilescan_tensor SafetensorsFile::Tensor(const std::string& name) {
  const auto found = content_.tensors.find(name);
  if (found == content_.tensors.end()) return {};
  const SafetensorsEntry& entry = found->second;
  const std::byte* data = mapped_.bytes().data() + entry.begin;
  // The mapping begins at a page, so the offset decides the alignment.
  if (entry.begin % static_cast<uint64_t>(ElementBytes(entry.dtype)) != 0) {
    std::unique_ptr<std::byte[]>& copy = aligned_copies_[name];
    if (!copy) {
      copy = std::make_unique<std::byte[]>(entry.end - entry.begin);
      std::memcpy(copy.get(), data, entry.end - entry.begin);
    }
    data = copy.get();
  }
  return ViewOf(entry, data);
}

void WriteSafetensors(const std::string& path, std::vector<NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata) {
  // Wide elements first: with the header padded to 8 bytes, every tensor is aligned.
  std::sort(tensors.begin(), tensors.end(), [](const NamedTensor& left, const NamedTensor& right) {
    return std::pair(-left.tensor.dtype.bits, left.name) <
           std::pair(-right.tensor.dtype.bits, right.name);
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  int64_t end = 0;
  for (const auto& [name, tensor] : tensors) {
    const int64_t begin = end;
    end += TensorBytes(tensor).value();
    header[name] = {{"dtype", FindDType(tensor.dtype)->safetensors},
                    {"shape", std::vector<int64_t>(tensor.shape, tensor.shape + tensor.ndim)},
                    {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + kSizeBytes - 1) / kSizeBytes * kSizeBytes, ' ');

  OutputFile file(path);
  const uint64_t header_bytes = text.size();
  file.Write(std::as_bytes(std::span(&header_bytes, 1)));
  file.Write(text);
  for (const auto& [name, tensor] : tensors) {
    file.Write({static_cast<const std::byte*>(tensor.data),
                static_cast<size_t>(TensorBytes(tensor).value())});
  }
  file.Commit();
}

}  // namespace tilescan::cli
