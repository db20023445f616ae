#include "tilescan/tilescan.h"

const char* tilescan_status_name(tilescan_status status) {
  switch (status) {
    case TILESCAN_OK:
      return "ok";
    case TILESCAN_INVALID_ARGUMENT:
      return "invalid argument";
    case TILESCAN_UNSUPPORTED:
      return "unsupported";
    case TILESCAN_OUT_OF_MEMORY:
      return "out of memory";
    case TILESCAN_INTERNAL:
      return "internal error";
  }
  return "unknown status";
}

const char* tilescan_version(void) { return TILESCAN_VERSION_STRING; }
