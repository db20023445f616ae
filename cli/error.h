// What ends a command early: bad usage, bad input, a file that cannot be read or written.
#ifndef TILESCAN_CLI_ERROR_H_
#define TILESCAN_CLI_ERROR_H_

#include <sstream>
#include <stdexcept>
#include <string>

namespace tilescan::cli {

// Exit codes, documented in docs/cli.md.
inline constexpr int kExitOk = 0;
inline constexpr int kExitCheckFailed = 1;
inline constexpr int kExitError = 2;

// The message is printed on stderr after "tilescan: "; the exit code is kExitError.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Everything streamable, one after another, as text.
template <typename... Parts>
std::string Concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_ERROR_H_
