// A file's bytes, mapped for reading.
#ifndef TILESCAN_CLI_MAPPED_FILE_H_
#define TILESCAN_CLI_MAPPED_FILE_H_

#include <cstddef>
#include <span>
#include <string>

namespace tilescan::cli {

// Maps a regular file for as long as the object lives. The file must not be shortened meanwhile.
class MappedFile {
 public:
  // Throws Error if the file cannot be opened, is not a regular file, or cannot be mapped.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // The first byte is aligned to a page.
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_MAPPED_FILE_H_
