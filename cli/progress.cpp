#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>

namespace tilescan::cli {

Progress::Progress(int64_t num_steps)
    : is_terminal_(isatty(STDERR_FILENO) == 1),
      num_steps_(num_steps),
      start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { Clear(); }

void Progress::Step(const std::string& what) {
  ++step_;
  if (!is_terminal_ || std::chrono::steady_clock::now() - start_ < std::chrono::seconds(1)) return;
  Clear();
  std::fprintf(stderr, "%lld of %lld: %s", static_cast<long long>(step_),
               static_cast<long long>(num_steps_), what.c_str());
  std::fflush(stderr);
  is_shown_ = true;
}

void Progress::Clear() {
  if (!is_shown_) return;
  // To the start of the line, and erase to its end (ECMA-48 EL).
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  is_shown_ = false;
}

}  // namespace tilescan::cli
