// Files that appear whole or not at all.
#ifndef TILESCAN_CLI_OUTPUT_FILE_H_
#define TILESCAN_CLI_OUTPUT_FILE_H_

#include <cstddef>
#include <span>
#include <string>

namespace tilescan::cli {

// Writes beside the target, in its folder, and renames on Commit(): until then the target is
// untouched, and without Commit() it stays so. A target that exists and is not a regular file (a
// device, a pipe) is written directly.
class OutputFile {
 public:
  // Throws Error if the file cannot be made.
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Throw Error if the bytes cannot be written, or the file not be put in place.
  void Write(std::span<const std::byte> bytes);
  void Write(const std::string& text);
  void Commit();

 private:
  [[noreturn]] void Fail(const std::string& what) const;

  std::string path_;          // as the user gave it, for messages
  std::string target_path_;   // symbolic links followed
  std::string partial_path_;  // empty: written directly
  int fd_ = -1;
};

// Throws Error where it is plain beforehand that path cannot be written, so that a long command
// says so at its start. "" and "-" are fine.
void RequireWritable(const std::string& path);

// text to path as a whole; "-" is stdout.
void WriteTextFile(const std::string& path, const std::string& text);

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_OUTPUT_FILE_H_
