#include "cli/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "cli/error.h"

namespace tilescan::cli {
namespace {

// The file a chain of symbolic links ends at, so that renaming replaces it and not the link.
std::string FollowLinks(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path), target_path_(FollowLinks(path)) {
  struct stat facts {};
  const bool exists = stat(path_.c_str(), &facts) == 0;
  if (exists && S_ISDIR(facts.st_mode)) Fail("a folder");
  if (exists && !S_ISREG(facts.st_mode)) {
    fd_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    partial_path_ = Concat(target_path_, ".partial-", getpid());
    fd_ = open(partial_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ >= 0 && exists) fchmod(fd_, facts.st_mode & 07777);
  }
  if (fd_ < 0) Fail(std::strerror(errno));
}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  close(fd_);
  if (!partial_path_.empty()) unlink(partial_path_.c_str());
}

void OutputFile::Fail(const std::string& what) const {
  throw Error(Concat("cannot write ", path_, ": ", what));
}

void OutputFile::Write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) Fail(std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void OutputFile::Write(const std::string& text) { Write(std::as_bytes(std::span(text))); }

void OutputFile::Commit() {
  // Some file systems report a full disk only on closing: before the target is replaced.
  const int fd = fd_;
  fd_ = -1;
  const bool done = close(fd) == 0 && (partial_path_.empty() ||
                                       rename(partial_path_.c_str(), target_path_.c_str()) == 0);
  if (done) return;
  const std::string reason = std::strerror(errno);
  if (!partial_path_.empty()) unlink(partial_path_.c_str());
  Fail(reason);
}

void RequireWritable(const std::string& path) {
  if (path.empty() || path == "-") return;
  const auto fail = [&](const char* why) { throw Error(Concat("cannot write ", path, ": ", why)); };
  struct stat facts {};
  const bool exists = stat(path.c_str(), &facts) == 0;
  if (exists && S_ISDIR(facts.st_mode)) fail("a folder");
  const bool is_replaced = !exists || S_ISREG(facts.st_mode);
  std::string folder = std::filesystem::path(FollowLinks(path)).parent_path().string();
  if (folder.empty()) folder = ".";
  if (access(is_replaced ? folder.c_str() : path.c_str(), W_OK) != 0) fail(std::strerror(errno));
}

void WriteTextFile(const std::string& path, const std::string& text) {
  if (path == "-") {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (!written || std::fflush(stdout) != 0) throw Error("cannot write to stdout");
    return;
  }
  OutputFile file(path);
  file.Write(text);
  file.Commit();
}

}  // namespace tilescan::cli
