// Machine: the state of the virtual driver in this process.
#pragma once

#include <atomic>
#include <concepts>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "tests/virtual_gpu/driver/examinations.h"
#include "tests/virtual_gpu/driver/executor.h"
#include "tests/virtual_gpu/driver/faults.h"

namespace sinter::virtual_gpu::driver {

/// One per process. It is never destroyed, because threads may call the driver while the process
/// ends.
class Machine {
 public:
  static Machine& get();

  explicit Machine(Configuration given) : configuration(std::move(given)), executor(*this) {}

  /// cuInit. Needs the lock.
  CUresult initialize();
  bool is_initialized() const { return process_ != 0; }
  /// True in a child process that inherited an initialised driver, which it must not use.
  bool is_forked() const;
  /// Counts the call. Returns the code that an injected fault gives it; success if there is none.
  /// A code after which a context cannot be used makes the current one fail. Needs the lock.
  CUresult fault(std::string_view function);
  void log(std::string_view function, CUresult code, std::string_view reason) const;
  /// The context of a device, created at the first use.
  std::shared_ptr<ContextObject> make_context(Device& device);

  const Configuration configuration;
  Faults faults{configuration.faults};
  std::mutex mutex;
  std::atomic<int> waiting_callers = 0;
  GlobalMemory* memory = nullptr;
  HappensBefore* happens_before = nullptr;
  OrderBook orders;
  HandleTable handles;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<ContextObject*> contexts;                    ///< live ones
  std::vector<std::shared_ptr<CaptureSequence>> captures;  ///< begun and not ended
  std::map<std::uint64_t, int> pool_allocations;  ///< address of stream-ordered ones -> device
  Executor executor;
  std::ofstream counts;
  Examinations examinations;
  unsigned long long next_stream_id = 1;
  unsigned long long next_capture_id = 1;
  std::string last_violation;
  std::atomic<bool> is_deinitialized = false;

 private:
  int process_ = 0;
};

/// The options of each device.
GpuOptions gpu_options(const Configuration& configuration);

/// A call of an entry point that holds the lock.
struct Call {
  Machine& machine;
  ApiLock& lock;
  ContextObject* context;  ///< the current one; null if the entry point needs none
};

/// The driver's state of a thread of the host.
struct ThreadState {
  CUcontext context = nullptr;
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  bool is_in_callback = false;  ///< in a function that the driver calls
};
ThreadState& this_thread();

enum class Needs : std::uint8_t {
  initialization,
  context,           ///< a current context that has not failed
  possible_context,  ///< the current context, if any; its failure does not matter
};

/// Runs the body of an entry point: checks the state of driver, thread and context, takes the lock,
/// and turns exceptions into codes. `name` is the function's name without a version suffix.
template <std::invocable<Call&> Body>
CUresult enter(std::string_view name, Needs needs, Body body);

/// The part of enter() that does not depend on the body: success, or why the call cannot begin.
CUresult check_thread(Machine& machine);
/// The current context as `needs` says. Throws Refusal.
ContextObject* current_context(Machine& machine, Needs needs);
/// The code of the exception that is being handled.
CUresult code_of_exception(Machine& machine, std::string_view name);

template <std::invocable<Call&> Body>
CUresult enter(std::string_view name, Needs needs, Body body) {
  Machine& machine = Machine::get();
  if (const CUresult code = check_thread(machine); code != CUDA_SUCCESS) return code;
  ApiLock lock(machine);
  try {
    if (const CUresult code = machine.fault(name); code != CUDA_SUCCESS) return code;
    Call call{.machine = machine, .lock = lock, .context = current_context(machine, needs)};
    if constexpr (std::is_void_v<std::invoke_result_t<Body, Call&>>) {
      body(call);
      return CUDA_SUCCESS;
    } else {
      return body(call);
    }
  } catch (...) {
    return code_of_exception(machine, name);
  }
}

}  // namespace sinter::virtual_gpu::driver
