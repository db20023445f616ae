// The library's own threads. They sleep between calls and are shared by all plans.
#ifndef TILESCAN_CPU_THREAD_POOL_H_
#define TILESCAN_CPU_THREAD_POOL_H_

#include <algorithm>
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

// As many threads as have a share of least_share each, 1 to num_threads. A least share takes about
// as long as handing it to another thread (a few microseconds): less is not worth a thread.
inline int32_t NumWorthwhile(int64_t work, int64_t least_share, int32_t num_threads) {
  return static_cast<int32_t>(std::clamp<int64_t>(work / least_share, 1, num_threads));
}

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_THREAD_POOL_H_
