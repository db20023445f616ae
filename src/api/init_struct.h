// Fills a struct of the C interface that the caller's header may know shorter or longer.
#ifndef TILESCAN_API_INIT_STRUCT_H_
#define TILESCAN_API_INIT_STRUCT_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace tilescan::api {

// The first struct_size bytes of defaults, zeros behind what this library knows. Nothing for null.
template <typename Struct>
void InitStruct(Struct defaults, size_t struct_size, Struct* to) {
  if (to == nullptr) return;
  defaults.struct_size = struct_size;
  std::memset(static_cast<void*>(to), 0, struct_size);
  std::memcpy(static_cast<void*>(to), &defaults, std::min(struct_size, sizeof(Struct)));
}

}  // namespace tilescan::api

#endif  // TILESCAN_API_INIT_STRUCT_H_
