// Functions for tests that the real driver lacks: faults, numbers of calls, live objects, and the
// last violation.
#include "tests/virtual_gpu/driver/capture.h"
#include "tests/virtual_gpu/driver/entry/arguments.h"

namespace sinter::virtual_gpu::driver {

namespace {

/// Text that stays valid until the next call of its thread.
const char* kept(std::string text) {
  static thread_local std::string last;
  last = std::move(text);
  return last.c_str();
}

std::string live_objects(const Machine& machine) {
  std::string text;
  const auto add = [&](std::string_view name, std::size_t count) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  };
  static constexpr std::string_view kNames[] = {"contexts",    "streams",           "events",
                                                "modules",     "functions",         "graphs",
                                                "graph nodes", "executable graphs", "user objects"};
  for (std::size_t kind = 0; kind < std::size(kNames); ++kind)
    add(kNames[kind], machine.handles.live(static_cast<HandleKind>(kind)));
  const auto memory = [&](MemoryKind kind) {
    return machine.memory ? machine.memory->live(kind) : 0;
  };
  add("device allocations", memory(MemoryKind::device));
  add("pinned allocations", memory(MemoryKind::pinned));
  add("captures", machine.captures.size());
  return text;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

/// The message of the last rule that a kernel or copy broke; empty if there is none.
const char* virtualGpuLastViolation() {
  Machine& machine = Machine::get();
  const ApiLock lock(machine);
  return kept(machine.last_violation);
}

/// The `call`-th call of the function from now on fails with the code, in the same way as
/// VIRTUAL_GPU_FAULT. Earlier faults and counts are forgotten. Null: there is no fault.
void virtualGpuSetFault(const char* function, int call, int code) {
  Machine& machine = Machine::get();
  const ApiLock lock(machine);
  machine.faults.clear();
  if (function) machine.faults.add({.function = function, .call = call, .code = code});
}

/// The calls of the function since the last virtualGpuSetFault, those that failed included.
int virtualGpuCalls(const char* function) {
  Machine& machine = Machine::get();
  const ApiLock lock(machine);
  return machine.faults.calls(function);
}

/// The numbers of objects that the program has not released: `1 contexts, 2 streams, …`.
const char* virtualGpuLiveObjects() {
  Machine& machine = Machine::get();
  const ApiLock lock(machine);
  return kept(live_objects(machine));
}

/// cuLaunchHostFunc, but the stream waits until `is_ready` returns other than 0. That function is
/// called again and again from the point on that the stream has reached it. It must not wait.
CUresult virtualGpuLaunchWhenReady(CUstream stream, int (*is_ready)(void*), CUhostFn function,
                                   void* data) {
  return enter("virtualGpuLaunchWhenReady", Needs::context, [&](Call& call) {
    StreamObject& found = *find_usable_stream(call, stream);
    require(function && is_ready, "a function is null");
    put(call.machine, found,
        make_operation(HostCall{.function = function, .data = data, .is_ready = is_ready}));
  });
}

/// Waits until every function of the host that is due has returned, such as the destructors of user
/// objects.
void virtualGpuAwaitHostFunctions() {
  Machine& machine = Machine::get();
  ApiLock lock(machine);
  machine.executor.wait_for_calls(lock);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace sinter::virtual_gpu::driver
