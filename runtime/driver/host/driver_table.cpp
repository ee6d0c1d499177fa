// The driver table of the host device. Each entry point is wrapped: the wrapper counts calls,
// injects faults, and refuses calls that a real driver would refuse.
#include "runtime/driver/host/capture.h"
#include "runtime/driver/host/state.h"
#include "runtime/support/fork_guard.h"
#include "sinter/error.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <new>
#include <vector>

#include <fmt/format.h>

namespace sinter::host {
namespace {

enum class Call {
#define SYMBOL(NAME, VERSION, NEED, PARAMETERS) NAME,
#include "runtime/driver/driver_symbols.def"
};
constexpr std::size_t kCalls = std::size(kDriverSymbols);

// Calls that work in every state, even before cuInit.
constexpr Call kAlwaysAllowed[] = {Call::cuGetErrorName, Call::cuGetErrorString, Call::cuInit,
                                   Call::cuDriverGetVersion};
// Calls that need the driver, but no context.
constexpr Call kNeedNoContext[] = {
    Call::cuDeviceGetCount,     Call::cuDeviceGet,      Call::cuDeviceGetName,
    Call::cuDeviceGetAttribute, Call::cuDeviceTotalMem, Call::cuDevicePrimaryCtxRetain,
    Call::cuCtxSetCurrent,      Call::cuCtxGetCurrent,  Call::cuThreadExchangeStreamCaptureMode,
};
// Calls that still work after the device has failed, so that everything can be released.
constexpr Call kAllowedAfterFailure[] = {
    Call::cuMemFree,      Call::cuMemFreeHost,  Call::cuStreamDestroy,    Call::cuEventDestroy,
    Call::cuModuleUnload, Call::cuGraphDestroy, Call::cuGraphExecDestroy, Call::cuUserObjectRelease,
};

// Calls that captures forbid unless the thread's mode or theirs is relaxed. They are not stream
// work, or they wait for it. The first query of a function is among them, because it may load code.
constexpr Call kUnsafeInCapture[] = {
    Call::cuDevicePrimaryCtxRetain,
    Call::cuMemAlloc,
    Call::cuMemFree,
    Call::cuMemHostAlloc,
    Call::cuMemFreeHost,
    Call::cuStreamCreate,
    Call::cuStreamSynchronize,
    Call::cuEventSynchronize,
    Call::cuEventQuery,
    Call::cuModuleLoadData,
    Call::cuModuleUnload,
    Call::cuModuleGetFunction,
    Call::cuFuncSetAttribute,
    Call::cuFuncGetAttribute,
    Call::cuFuncGetParamInfo,
    Call::cuOccupancyMaxActiveBlocksPerMultiprocessor,
    Call::cuOccupancyMaxActiveClusters,
    Call::cuGraphInstantiateWithFlags,
    Call::cuGraphExecDestroy,
};

template <std::size_t kSize>
constexpr bool is_in(Call call, const Call (&list)[kSize]) {
  return std::find(std::begin(list), std::end(list), call) != std::end(list);
}

struct Fault {
  int call;
  int calls_left;  // until it happens
  CUresult result;
};

struct Faults {
  std::mutex mutex;
  std::vector<Fault> list;
  std::atomic<int> count = 0;  // size of `list`, so that calls without faults take no lock
};

Faults& faults() {
  static auto* const faults = new Faults;
  return *faults;
}

std::atomic<std::uint64_t> call_counts[kCalls];
thread_local std::string error_text;

CUresult take_fault(Call call) {
  Faults& all = faults();
  if (all.count == 0) return CUDA_SUCCESS;
  const std::lock_guard lock(all.mutex);
  CUresult result = CUDA_SUCCESS;
  for (Fault& fault : all.list)
    if (fault.call == static_cast<int>(call) && --fault.calls_left == 0) result = fault.result;
  std::erase_if(all.list, [](const Fault& fault) { return fault.calls_left <= 0; });
  all.count = static_cast<int>(all.list.size());
  if (result != CUDA_SUCCESS) error_text = "a fault that was injected";
  return result;
}

CUresult begin_call(Call call) {
  call_counts[static_cast<std::size_t>(call)].fetch_add(1, std::memory_order_relaxed);
  if (is_in(call, kAlwaysAllowed)) return CUDA_SUCCESS;
  error_text.clear();
  if (is_forked()) return fail(CUDA_ERROR_NOT_INITIALIZED, kForkedError);
  if (const CUresult result = take_fault(call); result != CUDA_SUCCESS) return result;
  if (const CUresult result = check_context();
      result != CUDA_SUCCESS &&
      !(is_in(call, kNeedNoContext) && result == CUDA_ERROR_INVALID_CONTEXT))
    return result;
  if (is_in(call, kUnsafeInCapture))
    if (const CUresult result = refuse_unsafe(kDriverSymbols[static_cast<std::size_t>(call)].name);
        result != CUDA_SUCCESS)
      return result;
  if (is_in(call, kNeedNoContext) || is_in(call, kAllowedAfterFailure)) return CUDA_SUCCESS;
  return result_of(scheduler().failure());
}

constexpr const char* kNoMemory = "the host is out of memory";

template <Call kCall, auto kImplementation>
struct Entry;
template <Call kCall, class... Parameters, CUresult (*kImplementation)(Parameters...)>
struct Entry<kCall, kImplementation> {
  static CUresult call(Parameters... parameters) {
    try {
      if (const CUresult result = begin_call(kCall); result != CUDA_SUCCESS) return result;
      return kImplementation(parameters...);
    } catch (const std::bad_alloc&) {
      return fail(CUDA_ERROR_OUT_OF_MEMORY, kNoMemory);
    } catch (const std::exception& error) {
      return fail(CUDA_ERROR_UNKNOWN, error.what());
    }
  }
};

int index_of(std::string_view call) {
  const auto found = std::ranges::find(kDriverSymbols, call, &DriverSymbol::name);
  ensure(found != std::end(kDriverSymbols), fmt::format("the driver table has no call {}", call));
  return static_cast<int>(found - std::begin(kDriverSymbols));
}

}  // namespace

const Driver& host_driver() {
  static const Driver driver = [] {
    Driver table;
#define SYMBOL(NAME, VERSION, NEED, PARAMETERS) table.NAME = Entry<Call::NAME, &entry::NAME>::call;
#include "runtime/driver/driver_symbols.def"
    table.name = "host";
    table.cuDriverGetVersion(&table.version);
    table.last_error = last_error;
    return table;
  }();
  return driver;
}

CUresult fail(CUresult code, std::string text) {
  error_text = std::move(text);
  return code;
}

CUresult fail(CUresult code, const char* text) noexcept {
  try {
    error_text = text;
  } catch (const std::bad_alloc&) {
    error_text.clear();
  }
  return code;
}

CUresult result_of(Failure failure) {
  return failure.code == CUDA_SUCCESS ? CUDA_SUCCESS : fail(failure.code, std::move(failure.text));
}

CUresult run_until(const std::vector<Point>& points) {
  scheduler().run_until(points);
  return result_of(scheduler().failure());
}

std::uint64_t calls(std::string_view call) {
  return call_counts[index_of(call)].load(std::memory_order_relaxed);
}

void inject_fault(std::string_view call, int nth, CUresult result) {
  const int index = index_of(call);
  const std::lock_guard lock(faults().mutex);
  faults().list.push_back({index, nth, result});
  faults().count = static_cast<int>(faults().list.size());
}

void clear_faults() {
  const std::lock_guard lock(faults().mutex);
  faults().list.clear();
  faults().count = 0;
}

std::string last_error() { return error_text; }

void clear_error() {
  error_text.clear();
  scheduler().clear_failure();
}

void reset_calls() {
  for (auto& count : call_counts) count = 0;
}

}  // namespace sinter::host
