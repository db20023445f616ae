#include "cpu/thread_pool.h"

#include <pthread.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace tilescan::cpu {
namespace {

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// A few tens of microseconds: longer than the gap between the steps of one call or of two calls in
// a row, short beside the time for which a caller does something else.
constexpr int kSpinsBeforeSleep = 2000;

// Waits until value differs from old, and returns it.
uint64_t WaitForChange(const std::atomic<uint64_t>& value, uint64_t old) {
  for (int spin = 0; spin < kSpinsBeforeSleep; ++spin) {
    const uint64_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    Pause();
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

class ThreadPool {
 public:
  ~ThreadPool() {
    Announce(kStop);
    for (std::thread& thread : threads_) thread.join();
  }

  Status Start(int32_t num_workers) {
    // A run holds the mutex: who finds enough threads does not wait for it.
    if (num_started_.load(std::memory_order_acquire) >= num_workers) return Status();
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      threads_.reserve(static_cast<size_t>(num_workers));
      while (static_cast<int32_t>(threads_.size()) < num_workers) {
        const uint64_t worker_idx = threads_.size();
        threads_.emplace_back([this, worker_idx, seen = call_.load()] { Work(worker_idx, seen); });
        num_started_.store(static_cast<int32_t>(threads_.size()), std::memory_order_release);
      }
    } catch (const std::system_error& error) {
      return Status::OutOfMemory(std::string("cannot start a thread: ") + error.what());
    }
    return Status();
  }

  void Run(int32_t num_tasks, tilescan_task task, void* context) {
    std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    const int64_t num_workers =
        lock.owns_lock() ? std::min<int64_t>(num_tasks - 1, std::ssize(threads_)) : 0;
    if (num_workers <= 0) {
      for (int32_t task_idx = 0; task_idx < num_tasks; ++task_idx) task(context, task_idx);
      return;
    }
    task_ = task;
    context_ = context;
    num_tasks_ = num_tasks;
    next_task_.store(0, std::memory_order_relaxed);
    num_working_.store(static_cast<uint64_t>(num_workers), std::memory_order_relaxed);
    Announce(static_cast<uint64_t>(num_workers));
    TakeTasks();
    uint64_t working = num_working_.load(std::memory_order_acquire);
    while (working != 0) working = WaitForChange(num_working_, working);
  }

  // In the child of a fork no thread is left, and the mutex may be locked for ever.
  static void ForgetAfterFork();

 private:
  static constexpr uint64_t kWorkerBits = 16;
  static constexpr uint64_t kWorkerMask = (uint64_t{1} << kWorkerBits) - 1;
  static constexpr uint64_t kStop = kWorkerMask;

  // A call's number and how many workers it wants, in one word: a worker that is not wanted never
  // looks at the call's fields, which may be those of a later one by then.
  void Announce(uint64_t num_workers) {
    const uint64_t number = (call_.load(std::memory_order_relaxed) >> kWorkerBits) + 1;
    call_.store((number << kWorkerBits) | num_workers, std::memory_order_release);
    call_.notify_all();
  }

  void TakeTasks() {
    for (int32_t task_idx = next_task_.fetch_add(1); task_idx < num_tasks_;
         task_idx = next_task_.fetch_add(1)) {
      task_(context_, task_idx);
    }
  }

  void Work(uint64_t worker_idx, uint64_t seen) {
    while (true) {
      seen = WaitForChange(call_, seen);
      const uint64_t num_workers = seen & kWorkerMask;
      if (num_workers == kStop) return;
      if (worker_idx >= num_workers) continue;
      TakeTasks();
      num_working_.fetch_sub(1, std::memory_order_acq_rel);
      num_working_.notify_one();
    }
  }

  std::mutex mutex_;  // held by the call that uses the threads
  std::vector<std::thread> threads_;
  std::atomic<int32_t> num_started_{0};  // their number
  std::atomic<uint64_t> call_{0};
  std::atomic<uint64_t> num_working_{0};
  std::atomic<int32_t> next_task_{0};
  tilescan_task task_ = nullptr;
  void* context_ = nullptr;
  int32_t num_tasks_ = 0;
};

// Stopped and joined when the library is unloaded or the program ends.
std::unique_ptr<ThreadPool>& Pool() {
  static std::unique_ptr<ThreadPool> pool = [] {
    pthread_atfork(nullptr, nullptr, &ThreadPool::ForgetAfterFork);
    return std::make_unique<ThreadPool>();
  }();
  return pool;
}

void ThreadPool::ForgetAfterFork() {
  // Its threads cannot be joined here: it is left as it is.
  static_cast<void>(Pool().release());
  Pool() = std::make_unique<ThreadPool>();
}

}  // namespace

Status StartThreads(int32_t num_threads) { return Pool()->Start(num_threads - 1); }

void ParallelFor(const tilescan_executor* executor, int32_t num_tasks, tilescan_task task,
                 void* context) {
  if (executor != nullptr) {
    executor->parallel_for(executor->context, num_tasks, task, context);
  } else {
    Pool()->Run(num_tasks, task, context);
  }
}

}  // namespace tilescan::cpu
