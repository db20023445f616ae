// What the C interface's plan pointer points to, and the way of a call of any operation.
#ifndef TILESCAN_API_PLAN_HANDLE_H_
#define TILESCAN_API_PLAN_HANDLE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "api/last_error.h"
#include "api/rows.h"
#include "plan/plan.h"
#include "plan/run.h"

struct tilescan_plan {
  std::unique_ptr<const tilescan::plan::Plan> plan;
};

namespace tilescan::api {

template <typename Problem>
Status NullArgument(const char* argument) {
  return Status::InvalidArgument(std::string(plan::Operation<Problem>::kName) + ": " + argument +
                                 " is NULL");
}

template <typename Problem>
tilescan_status MakePlan(const typename plan::Operation<Problem>::Args* args,
                         const tilescan_options* options, tilescan_plan** handle) noexcept {
  if (handle != nullptr) *handle = nullptr;
  return Guard([&]() -> Status {
    if (handle == nullptr) return NullArgument<Problem>("plan");
    if (args == nullptr) return NullArgument<Problem>("args");
    auto made = std::make_unique<tilescan_plan>();
    TILESCAN_RETURN_IF_ERROR(
        plan::MakePlan<Problem>(*args, options, Facts(), AllRows<Problem>(), &made->plan));
    *handle = made.release();
    return Status();
  });
}

template <typename Problem>
tilescan_status RunPlan(const tilescan_plan* handle,
                        const typename plan::Operation<Problem>::Args* args,
                        plan::Place place) noexcept {
  return Guard([&]() -> Status {
    if (handle == nullptr) return NullArgument<Problem>("plan");
    if (args == nullptr) return NullArgument<Problem>("args");
    place.read_device = &cuda::ReadDevice;
    return plan::RunPlan<Problem>(*handle->plan, *args, place);
  });
}

}  // namespace tilescan::api

#endif  // TILESCAN_API_PLAN_HANDLE_H_
