// The library's own threads. They sleep between calls and are shared by all plans.
#ifndef TILESCAN_CPU_THREAD_POOL_H_
#define TILESCAN_CPU_THREAD_POOL_H_

#include <cstdint>
#include <type_traits>

#include "core/status.h"
#include "tilescan/tilescan.h"

namespace tilescan::cpu {

// Makes sure that num_threads - 1 threads stand ready besides the caller's. Called when planning,
// so that a run starts none.
Status StartThreads(int32_t num_threads);

// Calls task(context, i) for each i in [0, num_tasks), on the executor if there is one, else on the
// library's threads and the caller's. Returns when all are done. Where the threads are busy with
// another call, or were lost in a fork, the caller's thread does the work alone.
void ParallelFor(const tilescan_executor* executor, int32_t num_tasks, tilescan_task task,
                 void* context);

// The same for a function object: body(int32_t task_idx).
template <typename Body>
void ParallelFor(const tilescan_executor* executor, int32_t num_tasks, Body&& body) {
  using BodyType = std::remove_reference_t<Body>;
  ParallelFor(
      executor, num_tasks,
      [](void* context, int32_t task_idx) { (*static_cast<BodyType*>(context))(task_idx); }, &body);
}

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_THREAD_POOL_H_
