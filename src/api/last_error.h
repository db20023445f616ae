// The message of a thread's last failed call, and the wall that no exception passes.
#ifndef TILESCAN_API_LAST_ERROR_H_
#define TILESCAN_API_LAST_ERROR_H_

#include <exception>
#include <new>
#include <string>

#include "core/status.h"
#include "tilescan/tilescan.h"

namespace tilescan::api {

// Keeps the message for tilescan_last_error(), and returns the status's code. Does not throw.
tilescan_status Report(const Status& status) noexcept;

// The same for a message of static storage, which needs no memory.
tilescan_status ReportStatic(tilescan_status code, const char* message) noexcept;

tilescan_status ReportException(const std::exception& exception) noexcept;

// Runs body, which returns a Status, and reports what comes of it.
template <typename Body>
tilescan_status Guard(Body&& body) noexcept {
  try {
    return Report(body());
  } catch (const std::bad_alloc&) {
    return ReportStatic(TILESCAN_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& exception) {
    return ReportException(exception);
  } catch (...) {
    return ReportStatic(TILESCAN_INTERNAL, "unknown exception");
  }
}

}  // namespace tilescan::api

#endif  // TILESCAN_API_LAST_ERROR_H_
