#include "tests/virtual_gpu/driver/submission.h"

#include <algorithm>
#include <utility>

#include "tests/virtual_gpu/driver/graph.h"

namespace sinter::virtual_gpu::driver {

namespace {

/// The most kernels that overlap by programmatic dependent launch. The API permits overlap but does
/// not promise it.
constexpr int kMostOverlapping = 64;

bool is_done(const TaskPointer& task) { return task->state == Task::State::done; }

void add_unfinished(std::vector<TaskPointer>& tasks, const std::vector<TaskPointer>& more) {
  for (const TaskPointer& task : more)
    if (!is_done(task)) tasks.push_back(task);
}

/// Calls `visit` for the streams whose work is implicitly ordered before new work of `stream`.
void visit_implicit(const StreamObject& stream,
                    const std::invocable<const StreamObject&> auto& visit) {
  if (!stream.is_blocking) return;
  if (!stream.is_legacy) return visit(*stream.context->legacy);
  for (const std::shared_ptr<StreamObject>& other : stream.context->streams)
    if (other->is_blocking && !other->is_legacy) visit(*other);
}

/// Collects what a new task waits for, and the places that are ordered before it.
struct Before {
  std::vector<TaskPointer> tasks;
  Clock clock;
};

Before before_new_work(const Machine& machine, const StreamObject& stream,
                       std::span<const TaskPointer> extra) {
  Before before;
  const auto add = [&](const StreamObject& one) {
    add_unfinished(before.tasks, one.tails);
    if (one.last_task) machine.orders.join(before.clock, one.last);
  };
  add(stream);
  visit_implicit(stream, add);
  for (const TaskPointer& task : extra) {
    if (!task) continue;
    if (!is_done(task)) before.tasks.push_back(task);
    machine.orders.join(before.clock, task->order);
  }
  return before;
}

const KernelLaunch* kernel_of(const TaskPointer& task) {
  return task ? std::get_if<KernelLaunch>(task->operation.get()) : nullptr;
}

/// True if the kernel may overlap with the newest task of the stream.
bool may_overlap(const Machine& machine, const StreamObject& stream, const Operation& operation) {
  const auto* const launch = std::get_if<KernelLaunch>(&operation);
  return launch && launch->is_programmatic && kernel_of(stream.last_task) &&
         stream.last_task->order.point.member + 1 < kMostOverlapping &&
         !machine.orders.is_observed(stream.last.point);
}

TaskPointer new_task(Machine& machine, StreamObject& stream,
                     std::shared_ptr<const Operation> operation) {
  auto task = std::make_shared<Task>();
  task->context = stream.context;
  if (const auto* const launch = std::get_if<KernelLaunch>(operation.get()))
    task->context = launch->function->context;
  task->operation = std::move(operation);
  task->order.enqueued_at = machine.orders.next_time();
  return task;
}

void make_last(StreamObject& stream, const TaskPointer& task) {
  stream.last = task->order;
  stream.last.ancestors = nullptr;
  stream.last_task = task;
}

/// Gives the task the next place of the stream's chain.
void place(StreamObject& stream, Task& task, Clock clock) {
  task.order.point = {.chain = stream.last.point.chain, .position = stream.last.point.position + 1};
  task.order.known = std::make_shared<const Clock>(std::move(clock));
}

/// The kernel shares the place of its predecessor, which it does not wait for.
TaskPointer enqueue_overlapping(Machine& machine, StreamObject& stream, const TaskPointer& task) {
  const TaskPointer earlier = stream.last_task;
  task->order.point = earlier->order.point;
  ++task->order.point.member;
  task->early_predecessors = {earlier};
  Clock clock = *earlier->order.known;
  visit_implicit(stream, [&](const StreamObject& other) {
    add_unfinished(task->predecessors, other.tails);
    if (other.last_task) machine.orders.join(clock, other.last);
  });
  task->order.known = std::make_shared<const Clock>(std::move(clock));
  std::erase_if(stream.tails, is_done);
  stream.tails.push_back(task);
  make_last(stream, task);
  machine.executor.submit(task);
  return task;
}

/// The objects of a launch, until its last task has ended.
struct LaunchedGraph {
  LaunchedGraph(std::shared_ptr<const FlatGraph> tasks, std::shared_ptr<const GraphObject> whole)
      : flat(std::move(tasks)), graph(std::move(whole)) {}
  ~LaunchedGraph() { note_end(*graph, end); }
  LaunchedGraph(const LaunchedGraph&) = delete;
  LaunchedGraph& operator=(const LaunchedGraph&) = delete;

  std::shared_ptr<const FlatGraph> flat;
  std::shared_ptr<const GraphObject> graph;
  OrderRecord end;
};

}  // namespace

std::shared_ptr<StreamObject> make_stream(Machine& machine, ContextObject& context,
                                          StreamOptions options) {
  auto stream = std::make_shared<StreamObject>();
  stream->context = &context;
  stream->is_legacy = options.is_legacy;
  stream->is_blocking = options.is_blocking;
  stream->id = machine.next_stream_id++;
  stream->last.point.chain = machine.orders.new_chain();
  context.streams.push_back(stream);
  return stream;
}

TaskPointer enqueue(Machine& machine, StreamObject& stream,
                    std::shared_ptr<const Operation> operation,
                    std::span<const TaskPointer> extra) {
  const TaskPointer task = new_task(machine, stream, std::move(operation));
  if (extra.empty() && may_overlap(machine, stream, *task->operation))
    return enqueue_overlapping(machine, stream, task);
  Before before = before_new_work(machine, stream, extra);
  task->predecessors = std::move(before.tasks);
  place(stream, *task, std::move(before.clock));
  stream.tails = {task};
  make_last(stream, task);
  machine.executor.submit(task);
  return task;
}

TaskPointer enqueue_graph(Machine& machine, StreamObject& stream, ExecObject& exec) {
  if (!exec.flat) exec.flat = flatten(*exec.graph, machine.configuration.starts_early);
  const FlatGraph& flat = *exec.flat;
  // A user's objects and the kernels live until the launch has ended.
  const auto keeps = std::make_shared<LaunchedGraph>(exec.flat, exec.graph);
  const TaskPointer previous[] = {exec.last_launch};
  const Before before = before_new_work(machine, stream, previous);
  const auto known = std::make_shared<const Clock>(before.clock);
  const std::uint64_t position = stream.last.point.position + 1;
  std::vector<TaskPointer> tasks;
  for (std::size_t i = 0; i < flat.nodes.size(); ++i) {
    const TaskPointer task = new_task(machine, stream, flat.nodes[i].operation);
    task->order.point = {
        .chain = stream.last.point.chain, .position = position, .member = static_cast<int>(i)};
    task->order.known = known;
    task->order.ancestors = flat.ancestors;
    if (flat.nodes[i].dependencies.empty()) task->predecessors = before.tasks;
    for (const FlatGraph::Dependency& one : flat.nodes[i].dependencies) {
      const TaskPointer& other = tasks[static_cast<std::size_t>(one.node)];
      (one.is_programmatic ? task->early_predecessors : task->predecessors).push_back(other);
    }
    task->keeps = keeps;
    tasks.push_back(task);
  }
  // All tasks exist before the executor sees the first one.
  for (const TaskPointer& task : tasks) machine.executor.submit(task);
  stream.last.point.position = position;
  if (!tasks.empty()) {
    stream.tails = tasks;
    stream.last.known = known;
    stream.last_task = tasks.back();
  }
  exec.last_launch = enqueue(machine, stream, make_operation(Empty{}), previous);
  exec.last_launch->keeps = keeps;
  keeps->end = exec.last_launch->order;
  return exec.last_launch;
}

PendingWork pending_work(const StreamObject& stream) {
  PendingWork work;
  const auto add = [&](const StreamObject& one) {
    add_unfinished(work.tasks, one.tails);
    if (one.last_task) work.places.push_back(one.last);
  };
  add(stream);
  if (stream.is_legacy) visit_implicit(stream, add);
  return work;
}

PendingWork pending_work(const ContextObject& context) {
  PendingWork work;
  for (const std::shared_ptr<StreamObject>& stream : context.streams) {
    add_unfinished(work.tasks, stream->tails);
    if (stream->last_task) work.places.push_back(stream->last);
  }
  return work;
}

PendingWork pending_work(const TaskPointer& marker) {
  if (!marker) return {};
  PendingWork work{.places = {marker->order}};
  add_unfinished(work.tasks, {marker});
  return work;
}

void wait_for(Call& call, const PendingWork& work, const ContextObject& context) {
  call.machine.executor.wait(call.lock, work.tasks);
  if (call.machine.is_deinitialized) throw Refusal(kErrorDeinitialized, "the process ends");
  if (context.failure != CUDA_SUCCESS)
    throw Refusal(context.failure, "the work that the call waits for has failed");
}

void synchronize(Call& call, const PendingWork& work, const ContextObject& context) {
  wait_for(call, work, context);
  for (const OrderRecord& place : work.places) call.machine.orders.observe(place);
}

CUresult query(Call& call, const PendingWork& work, const ContextObject& context) {
  if (call.machine.configuration.runs_on_demand) {
    bool is_first = false;
    for (const TaskPointer& task : work.tasks) is_first |= !std::exchange(task->is_queried, true);
    if (is_first) return CUDA_ERROR_NOT_READY;
  } else if (!work.tasks.empty()) {
    call.machine.executor.want(work.tasks);
    return CUDA_ERROR_NOT_READY;
  }
  synchronize(call, work, context);
  return CUDA_SUCCESS;
}

void drop_destroyed_streams(ContextObject& context) {
  std::erase_if(context.streams, [&](const std::shared_ptr<StreamObject>& stream) {
    return stream->is_destroyed && std::ranges::all_of(stream->tails, is_done);
  });
}

}  // namespace sinter::virtual_gpu::driver
