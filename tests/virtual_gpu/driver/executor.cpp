#include "tests/virtual_gpu/driver/executor.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tests/virtual_gpu/driver/copy.h"
#include "tests/virtual_gpu/driver/launch_counts.h"
#include "tests/virtual_gpu/driver/machine.h"

namespace sinter::virtual_gpu::driver {

namespace {

/// After this time without a call, tasks start that no thread waits for.
constexpr std::chrono::milliseconds kPatience(10);
/// The executor lets callers in for at most so many turns.
constexpr int kMostTurns = 1000;
/// The time between two questions whether a function of the host is ready.
constexpr std::chrono::milliseconds kReadyPoll(1);
/// The estimated time of a task that only joins others, and of the start of a copy or kernel.
constexpr std::uint64_t kMarkerNs = 500;

CUresult code_of(const Violation& violation) {
  if (violation.kind != CheckKind::memory) return CUDA_ERROR_LAUNCH_FAILED;
  const std::string_view text = violation.what();
  const bool is_alignment = text.find("aligned") != std::string_view::npos ||
                            text.find("alignment") != std::string_view::npos;
  return is_alignment ? CUDA_ERROR_MISALIGNED_ADDRESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

}  // namespace

ApiLock::ApiLock(Machine& machine) : lock_(machine.mutex, std::defer_lock) {
  machine.waiting_callers.fetch_add(1);
  lock_.lock();
  machine.waiting_callers.fetch_sub(1);
}

void Executor::start() {
  random_state_ = machine_.configuration.seed;
  is_started_ = true;
  thread_ = std::thread([this] { run(); });
  // It is never joined, since a function of the host may block for ever.
  std::thread([this] { run_calls(); }).detach();
}

void Executor::stop() {
  {
    const std::lock_guard lock(machine_.mutex);
    if (!is_started_ || is_stopped_) return;
    is_stopped_ = true;
    work_.notify_all();
    done_.notify_all();
    calls_ready_.notify_all();
  }
  thread_.join();
}

std::uint64_t Executor::random() {  // splitmix64
  std::uint64_t z = random_state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void Executor::submit(const TaskPointer& task) {
  // Later tasks are ordered after all that the host has waited for, if no earlier one is left.
  if (pending_ == 0) machine_.happens_before->retire(machine_.orders.observed_prefix());
  task->number = ++submitted_;
  ++activity_;
  ++pending_;
  const Schedule schedule = machine_.configuration.schedule;
  task->is_late = machine_.configuration.runs_on_demand || schedule == Schedule::adversarial ||
                  (schedule == Schedule::random && random() % 2 == 0);
  std::erase_if(task->predecessors,
                [](const TaskPointer& one) { return one->state == Task::State::done; });
  task->blockers = task->predecessors.size();
  for (const TaskPointer& one : task->predecessors) one->dependents.push_back(task);
  if (task->blockers == 0) ready_.push_back(task);
  work_.notify_one();
}

void Executor::want(std::span<const TaskPointer> tasks) {
  ++activity_;
  std::vector<TaskPointer> open(tasks.begin(), tasks.end());
  while (!open.empty()) {
    const TaskPointer task = std::move(open.back());
    open.pop_back();
    if (task->is_wanted || task->state == Task::State::done) continue;
    task->is_wanted = true;
    open.insert(open.end(), task->predecessors.begin(), task->predecessors.end());
    open.insert(open.end(), task->early_predecessors.begin(), task->early_predecessors.end());
  }
  work_.notify_one();
}

void Executor::wait(ApiLock& lock, std::span<const TaskPointer> tasks) {
  want(tasks);
  ++waiters_;
  done_.wait(lock.get(), [&] {
    return is_stopped_ || std::ranges::all_of(tasks, [](const TaskPointer& task) {
             return task->state == Task::State::done;
           });
  });
  --waiters_;
}

void Executor::call_soon(const HostCall& call, std::map<std::uint32_t, OrderRecord> ended) {
  calls_.push_back({.call = call, .ended = std::move(ended)});
  calls_ready_.notify_one();
}

void Executor::wait_for_calls(ApiLock& lock) {
  done_.wait(lock.get(), [&] { return is_stopped_ || (calls_.empty() && !is_calling_); });
}

std::deque<Executor::Call>::iterator Executor::find_ready_call() {
  return std::ranges::find_if(calls_, [](const Call& one) {
    return !one.call.is_ready || one.call.is_ready(one.call.data) != 0;
  });
}

void Executor::run_calls() {
  this_thread().is_in_callback = true;
  std::unique_lock lock(machine_.mutex);
  while (true) {
    calls_ready_.wait(lock, [&] { return is_stopped_ || !calls_.empty(); });
    if (is_stopped_) return;
    const auto ready = find_ready_call();
    if (ready == calls_.end()) {
      calls_ready_.wait_for(lock, kReadyPoll);
      continue;
    }
    const Call call = std::move(*ready);
    calls_.erase(ready);
    // The start of the function "has the same effect as synchronizing an event recorded in the same
    // stream immediately prior to" it: cuLaunchHostFunc.
    if (call.task) machine_.orders.observe_before(call.task->order);
    for (const auto& [chain, record] : call.ended) machine_.orders.observe(record);
    is_calling_ = true;
    lock.unlock();
    call.call.function(call.call.data);
    lock.lock();
    is_calling_ = false;
    done_.notify_all();
    if (call.task && !is_stopped_) complete(call.task, kMarkerNs);
  }
}

void Executor::let_callers_in(std::unique_lock<std::mutex>& lock) {
  if (machine_.waiting_callers.load() == 0) return;
  lock.unlock();
  for (int i = 0; i < kMostTurns && machine_.waiting_callers.load() > 0; ++i)
    std::this_thread::yield();
  lock.lock();
}

void Executor::run() {
  std::unique_lock lock(machine_.mutex);
  std::uint64_t last_activity = activity_;
  while (!is_stopped_) {
    if (step(/*may_start_any=*/false)) {
      let_callers_in(lock);
      continue;
    }
    if (pending_ == 0) {
      work_.wait(lock);
      continue;
    }
    if (machine_.configuration.runs_on_demand) {
      work_.wait(lock);
      continue;
    }
    last_activity = activity_;
    work_.wait_for(lock, kPatience);
    if (!is_stopped_ && activity_ == last_activity) step(/*may_start_any=*/true);
  }
}

bool Executor::step(bool may_start_any) {
  bool has_started = false;
  // Kernels that may overlap start together.
  while (const TaskPointer task = choose(may_start_any)) {
    std::erase(ready_, task);
    execute(task);
    has_started = true;
    if (may_start_any || std::holds_alternative<Copy>(*task->operation)) break;
  }
  return run_kernels() || has_started;
}

bool Executor::is_allowed(const Task& task) const {
  if (!task.is_late || task.is_wanted) return true;
  // With an odd seed, work that no thread waits for runs before the work that one waits for.
  return waiters_ > 0 && machine_.configuration.seed % 2 == 1 &&
         !machine_.configuration.runs_on_demand;
}

bool Executor::is_ready(const Task& task) const {
  return std::ranges::all_of(task.early_predecessors, [](const TaskPointer& one) {
    return one->state == Task::State::done ||
           (one->state == Task::State::running &&
            one->context->gpu->lets_dependents_start(one->serial));
  });
}

TaskPointer Executor::choose(bool may_start_any) {
  std::vector<TaskPointer> choices;
  for (const TaskPointer& task : ready_)
    if ((may_start_any || is_allowed(*task)) && is_ready(*task)) choices.push_back(task);
  if (choices.empty()) return nullptr;
  switch (machine_.configuration.schedule) {
    case Schedule::fair: return *std::ranges::min_element(choices, {}, &Task::number);
    case Schedule::random: return choices[random() % choices.size()];
    case Schedule::adversarial: break;
  }
  return *std::ranges::max_element(choices, {}, &Task::number);
}

void Executor::execute(const TaskPointer& task) {
  if (task->context->failure != CUDA_SUCCESS) return complete(task, 0);
  if (fails_by_request(*task)) return complete(task, 0);
  std::uint64_t nanoseconds = kMarkerNs;
  try {
    const Operation& operation = *task->operation;
    if (const auto* const work = std::get_if<KernelLaunch>(&operation)) return launch(task, *work);
    if (const auto* const work = std::get_if<HostCall>(&operation)) {
      task->state = Task::State::running;
      calls_.push_back({.call = *work, .task = task});
      calls_ready_.notify_one();
      return;
    }
    if (const auto* const work = std::get_if<Copy>(&operation)) {
      run_copy(machine_, *task, *work);
      nanoseconds += copy_nanoseconds(work->bytes);
    }
    if (const auto* const work = std::get_if<Fill>(&operation)) {
      run_fill(machine_, *task, *work);
      nanoseconds += copy_nanoseconds(work->bytes());
    }
    if (const auto* const work = std::get_if<PoolAllocation>(&operation))
      run_pool_allocation(machine_, *task, *work);
    if (const auto* const work = std::get_if<PoolRelease>(&operation))
      run_pool_release(machine_, *task, *work);
  } catch (const Violation& violation) {
    fail(*task->context, code_of(violation), violation.what());
  }
  complete(task, nanoseconds);
}

/// Makes the context fail if a fault is injected into the work. The work has no effect then.
bool Executor::fails_by_request(const Task& task) {
  const bool is_kernel = std::holds_alternative<KernelLaunch>(*task.operation);
  if (!is_kernel && !std::holds_alternative<Copy>(*task.operation)) return false;
  const std::string_view work = is_kernel ? kKernelFault : kCopyFault;
  const CUresult code = machine_.faults.count(work);
  if (code == CUDA_SUCCESS) return false;
  fail(*task.context, code, fmt::format("injected: a {} fails", work));
  return true;
}

void Executor::launch(const TaskPointer& task, const KernelLaunch& work) {
  std::vector<std::uint32_t> waits_for;
  for (const TaskPointer& earlier : task->early_predecessors)
    if (earlier->serial != 0) waits_for.push_back(earlier->serial);
  const auto is_ordered = [&book = machine_.orders, record = task->order](std::uint32_t earlier) {
    const OrderRecord* const other = book.find(earlier);
    return other && book.is_before(*other, record);
  };
  ContextObject& context = *task->context;
  const LaunchRequest request = {.program = work.function->program,
                                 .entry = work.function->entry,
                                 .grid = work.grid,
                                 .block = work.block,
                                 .cluster = work.cluster,
                                 .dynamic_shared_bytes = work.shared_bytes,
                                 .parameters = work.parameters,
                                 .is_cooperative = work.is_cooperative,
                                 .waits_for = std::move(waits_for),
                                 .is_ordered = is_ordered};
  try {
    if (machine_.examinations.is_open()) examine(context, request);
    if (context.failure != CUDA_SUCCESS) return complete(task, 0);
    task->serial = context.gpu->start(request);
  } catch (const Violation& violation) {
    fail(context, code_of(violation), violation.what());
    return complete(task, 0);
  }
  machine_.orders.add(task->serial, task->order);
  task->state = Task::State::running;
  context.running.push_back(task);
}

void Executor::examine(ContextObject& context, const LaunchRequest& request) {
  while (run_kernels()) {
  }
  if (context.failure != CUDA_SUCCESS) return;
  const GpuOptions options = gpu_options(machine_.configuration);
  machine_.examinations.examine({.limits = context.device->limits,
                                 .options = options,
                                 .memory = *machine_.memory,
                                 .order = *machine_.happens_before,
                                 .request = request},
                                !request.waits_for.empty());
}

bool Executor::run_kernels() {
  for (std::size_t i = 0; i < machine_.contexts.size(); ++i) {
    ContextObject& context = *machine_.contexts[++next_context_ % machine_.contexts.size()];
    if (context.running.empty()) continue;
    bool is_running = true;
    try {
      is_running = context.gpu->run_some();
    } catch (const Violation& violation) {
      fail(context, code_of(violation), violation.what());
      return true;
    } catch (const std::exception& error) {
      fail(context, CUDA_ERROR_UNKNOWN, fmt::format("the interpreter failed: {}", error.what()));
      return true;
    }
    collect(context);
    if (!is_running && !context.running.empty())
      fail(context, CUDA_ERROR_UNKNOWN, "the GPU has nothing to run, but a kernel is not done");
    return true;
  }
  return false;
}

void Executor::collect(ContextObject& context) {
  const std::vector<TaskPointer> running = context.running;
  for (const TaskPointer& task : running) {
    if (!context.gpu->is_done(task->serial)) continue;
    std::erase(context.running, task);
    const LaunchCounts& counts = context.gpu->counts(task->serial);
    if (machine_.counts.is_open())
      machine_.counts << counts_as_json(counts, context.device->ordinal) << std::endl;
    complete(task, kMarkerNs + kernel_nanoseconds(counts, context.device->limits));
  }
}

void Executor::complete(const TaskPointer& task, std::uint64_t nanoseconds) {
  task->state = Task::State::done;
  --pending_;
  task->end_ns = task->context->clock_ns += nanoseconds;
  for (const TaskPointer& one : task->dependents)
    if (--one->blockers == 0) ready_.push_back(one);
  task->dependents.clear();
  task->predecessors.clear();
  task->early_predecessors.clear();
  task->keeps.reset();
  done_.notify_all();
  work_.notify_one();
}

void Executor::fail(ContextObject& context, CUresult code, const std::string& message) {
  if (context.failure != CUDA_SUCCESS) return;
  context.failure = code;
  machine_.last_violation = message;
  std::fprintf(stderr, "virtual GPU %d: %s\n", context.device->ordinal, message.c_str());
  const std::vector<TaskPointer> running = std::move(context.running);
  context.running.clear();
  for (const TaskPointer& task : running) complete(task, 0);
}

}  // namespace sinter::virtual_gpu::driver
