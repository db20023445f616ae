// How the caller wants a problem computed.
#ifndef TILESCAN_CORE_OPTIONS_H_
#define TILESCAN_CORE_OPTIONS_H_

#include <cstdint>
#include <string>

#include "tilescan/tilescan.h"

namespace tilescan {

struct Options {
  std::string backend;          // empty: choose
  std::string kernel;           // empty: choose
  std::string instruction_set;  // empty: choose
  int64_t chunk_size = 0;       // 0: choose
  int32_t num_threads = 0;      // 0: all the process may use
  const tilescan_executor* executor = nullptr;
  bool check_indices = false;  // on a GPU, where that takes waiting
};

}  // namespace tilescan

#endif  // TILESCAN_CORE_OPTIONS_H_
