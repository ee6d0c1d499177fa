// Executor: the thread that runs enqueued tasks, and the thread that calls functions of the host.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tests/virtual_gpu/driver/objects.h"

namespace sinter::virtual_gpu::driver {

class Machine;

/// The lock of the machine, for an entry point. The executor lets waiting entry points proceed
/// between its steps.
class ApiLock {
 public:
  explicit ApiLock(Machine& machine);
  std::unique_lock<std::mutex>& get() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

/// The order in which ready tasks run is a choice of the schedule, within what the API allows:
/// - fair: as soon as possible, in the order of the calls;
/// - random: by the seed, in any order, some of them only when the host waits for them;
/// - adversarial: only when the host waits, and then the newest first, or only what the host waits
///   for, by the seed.
/// A task that no thread waits for starts after some time without calls, since a program may poll.
/// With Configuration::runs_on_demand no task starts before it is wanted.
/// All functions but stop() need the lock of the machine.
class Executor {
 public:
  explicit Executor(Machine& machine) : machine_(machine) {}

  void start();
  /// Ends the threads; the rest of the work is dropped. Without the lock.
  void stop();
  bool is_stopped() const { return is_stopped_; }

  /// Enqueues a task with its predecessors and order.
  void submit(const TaskPointer& task);
  /// Waits until all tasks are done, or the executor is stopped.
  void wait(ApiLock& lock, std::span<const TaskPointer> tasks);
  /// A query: later on, the tasks run although no thread waits for them.
  void want(std::span<const TaskPointer> tasks);
  /// Calls a function of the host outside of any stream, which tells the host that the work of the
  /// records has ended.
  void call_soon(const HostCall& call, std::map<std::uint32_t, OrderRecord> ended);
  /// Waits until every function of the host that is due has returned.
  void wait_for_calls(ApiLock& lock);
  /// Marks the context as failed: its work ends without effect.
  void fail(ContextObject& context, CUresult code, const std::string& message);

 private:
  struct Call {
    HostCall call;
    TaskPointer task = nullptr;  ///< null: none waits for it
    std::map<std::uint32_t, OrderRecord> ended = {};
  };

  void run();
  void run_calls();
  /// The first due call that is ready; calls_.end() if none is.
  std::deque<Call>::iterator find_ready_call();
  bool step(bool may_start_any);
  TaskPointer choose(bool may_start_any);
  bool is_allowed(const Task& task) const;
  bool is_ready(const Task& task) const;
  void execute(const TaskPointer& task);
  bool fails_by_request(const Task& task);
  void launch(const TaskPointer& task, const KernelLaunch& work);
  /// Lets all started kernels end, and examines the next one.
  void examine(ContextObject& context, const LaunchRequest& request);
  bool run_kernels();
  void collect(ContextObject& context);
  void complete(const TaskPointer& task, std::uint64_t nanoseconds);
  std::uint64_t random();
  void let_callers_in(std::unique_lock<std::mutex>& lock);

  Machine& machine_;
  std::condition_variable work_, done_, calls_ready_;
  std::vector<TaskPointer> ready_;  ///< no predecessor is left; perhaps early ones
  std::size_t pending_ = 0;         ///< tasks that are not done
  std::deque<Call> calls_;
  bool is_calling_ = false;
  std::uint64_t submitted_ = 0;
  std::uint64_t activity_ = 0;  ///< calls so far
  std::uint64_t random_state_ = 0;
  std::size_t next_context_ = 0;
  int waiters_ = 0;
  bool is_stopped_ = false;
  bool is_started_ = false;
  std::thread thread_;
};

}  // namespace sinter::virtual_gpu::driver
