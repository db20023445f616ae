// Reads a struct of the C interface by its struct_size: the caller may have been built against
// another version of the header, with fewer or more fields at the end.
#ifndef TILESCAN_PLAN_READ_STRUCT_H_
#define TILESCAN_PLAN_READ_STRUCT_H_

#include <cstddef>
#include <cstring>

#include "plan/text.h"
#include "plan/violations.h"

namespace tilescan::plan {

// More is not a size but an uninitialised struct.
constexpr size_t kMaxStructBytes = 65536;

// Whether the struct can be read: it begins with a plausible size, and what lies beyond the fields
// this library knows is zero, that is, asks for nothing.
template <typename Struct>
bool CheckStructSize(const char* name, const Struct& given, Violations* violations) {
  const size_t size = given.struct_size;
  if (size < sizeof(size_t) || size > kMaxStructBytes) {
    violations->Add(Text(name, ".struct_size is ", size, ", expected ", sizeof(Struct),
                         " as its init function sets it"));
    return false;
  }
  const unsigned char* bytes = reinterpret_cast<const unsigned char*>(&given);
  for (size_t idx = sizeof(Struct); idx < size; ++idx) {
    if (bytes[idx] == 0) continue;
    violations->Add(Text(name, ".struct_size is ", size, ", expected ", sizeof(Struct),
                         ", or zeros beyond: they set what this version of the library lacks"));
    return false;
  }
  return true;
}

// Copies a field if the caller's struct holds all of it; else the default stays. A later version
// must not put a field into what is padding now: an older caller's padding would be read as it.
template <typename Struct, typename Field>
void ReadField(const Struct& given, Field Struct::*field, Struct* full) {
  const char* begin = reinterpret_cast<const char*>(full);
  const char* end = reinterpret_cast<const char*>(&(full->*field) + 1);
  if (static_cast<size_t>(end - begin) > given.struct_size) return;
  // NOLINTNEXTLINE(bugprone-sizeof-expression): a field may be a pointer, and is copied as one
  std::memcpy(&(full->*field), &(given.*field), sizeof(Field));
}

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_READ_STRUCT_H_
