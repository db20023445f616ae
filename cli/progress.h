// A line on stderr that says how far a long command is.
#ifndef TILESCAN_CLI_PROGRESS_H_
#define TILESCAN_CLI_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace tilescan::cli {

// Shows nothing unless stderr is a terminal, and nothing in the first second.
class Progress {
 public:
  explicit Progress(int64_t num_steps);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A step begins.
  void Step(const std::string& what);
  // Takes the line away, so that other text can be printed.
  void Clear();

 private:
  bool is_terminal_;
  bool is_shown_ = false;
  int64_t num_steps_;
  int64_t step_ = 0;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_PROGRESS_H_
