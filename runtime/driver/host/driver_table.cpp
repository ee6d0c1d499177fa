// The table: each entry point wrapped so that it is counted, can be made to fail, and is refused
// where a real driver would refuse it.
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

// Calls that only read what never changes.
constexpr Call kAlwaysAllowed[] = {Call::cuGetErrorName, Call::cuGetErrorString, Call::cuInit,
                                   Call::cuDriverGetVersion};
// Calls that need the driver, but no context.
constexpr Call kNeedNoContext[] = {
    Call::cuDeviceGetCount,
    Call::cuDeviceGet,
    Call::cuDeviceGetName,
    Call::cuDeviceGetAttribute,
    Call::cuDeviceTotalMem,
    Call::cuDevicePrimaryCtxRetain,
    Call::cuDevicePrimaryCtxRelease,
    Call::cuCtxSetCurrent,
    Call::cuCtxGetCurrent,
    Call::cuCtxPushCurrent,
    Call::cuCtxPopCurrent,
    Call::cuDeviceGetDefaultMemPool,
    Call::cuThreadExchangeStreamCaptureMode,
};
// Calls that still work after the device failed, so that everything can be given back.
constexpr Call kAllowedAfterFailure[] = {
    Call::cuCtxGetDevice,     Call::cuMemFree,           Call::cuMemFreeAsync,
    Call::cuMemFreeHost,      Call::cuStreamDestroy,     Call::cuMemHostUnregister,
    Call::cuEventDestroy,     Call::cuModuleUnload,      Call::cuGraphDestroy,
    Call::cuGraphExecDestroy, Call::cuUserObjectRelease,
};

// Calls that stream captures forbid where neither the thread's mode nor theirs is relaxed: what
// they do is no work of a stream, or waits for some. Functions may be loaded by the first call that
// asks for one.
constexpr Call kUnsafeInCapture[] = {
    Call::cuDevicePrimaryCtxRetain,
    Call::cuDevicePrimaryCtxRelease,
    Call::cuMemAlloc,
    Call::cuMemFree,
    Call::cuMemPoolTrimTo,
    Call::cuMemHostAlloc,
    Call::cuMemFreeHost,
    Call::cuMemHostRegister,
    Call::cuMemHostUnregister,
    Call::cuStreamCreate,
    Call::cuStreamCreateWithPriority,
    Call::cuStreamSynchronize,
    Call::cuStreamQuery,
    Call::cuEventSynchronize,
    Call::cuEventQuery,
    Call::cuModuleLoadData,
    Call::cuModuleLoadDataEx,
    Call::cuModuleUnload,
    Call::cuModuleGetFunction,
    Call::cuFuncSetAttribute,
    Call::cuFuncGetAttribute,
    Call::cuFuncGetParamInfo,
    Call::cuOccupancyMaxActiveBlocksPerMultiprocessor,
    Call::cuOccupancyMaxActiveClusters,
    Call::cuGraphInstantiateWithFlags,
    Call::cuGraphExecDestroy,
    Call::cuGraphUpload,
};

template <std::size_t kSize>
constexpr bool is_in(Call call, const Call (&list)[kSize]) {
  return std::find(std::begin(list), std::end(list), call) != std::end(list);
}

struct Fault {
  int call;
  int left;  // calls until it strikes
  CUresult result;
};

struct Faults {
  std::mutex mutex;
  std::vector<Fault> list;
  std::atomic<int> count = 0;  // of list, so that calls without faults take no lock
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
    if (fault.call == static_cast<int>(call) && --fault.left == 0) result = fault.result;
  std::erase_if(all.list, [](const Fault& fault) { return fault.left <= 0; });
  all.count = static_cast<int>(all.list.size());
  if (result != CUDA_SUCCESS) error_text = "a fault that was injected";
  return result;
}

CUresult begin(Call call) {
  call_counts[static_cast<std::size_t>(call)].fetch_add(1, std::memory_order_relaxed);
  if (is_in(call, kAlwaysAllowed)) return CUDA_SUCCESS;
  error_text.clear();
  if (is_forked()) return fail(CUDA_ERROR_NOT_INITIALIZED, kForked);
  if (const CUresult result = take_fault(call); result != CUDA_SUCCESS) return result;
  if (const CUresult result = check_context();
      result != CUDA_SUCCESS &&
      !(is_in(call, kNeedNoContext) && result != CUDA_ERROR_NOT_INITIALIZED &&
        result != CUDA_ERROR_NOT_PERMITTED))
    return result;
  if (is_in(call, kUnsafeInCapture))
    if (const CUresult result = refuse_unsafe(kDriverSymbols[static_cast<std::size_t>(call)].name);
        result != CUDA_SUCCESS)
      return result;
  if (is_in(call, kNeedNoContext) || is_in(call, kAllowedAfterFailure)) return CUDA_SUCCESS;
  const Failure failure = schedule().failure();
  return failure.code == CUDA_SUCCESS ? CUDA_SUCCESS : fail(failure.code, failure.text);
}

constexpr const char* kNoMemory = "the host is out of memory";

template <Call kCall, auto kImplementation>
struct Entry;
template <Call kCall, class... Parameters, CUresult (*kImplementation)(Parameters...)>
struct Entry<kCall, kImplementation> {
  static CUresult call(Parameters... parameters) {
    try {
      if (const CUresult result = begin(kCall); result != CUDA_SUCCESS) return result;
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

CUresult run_until(const std::vector<Point>& points) {
  schedule().run_until(points);
  const Failure failure = schedule().failure();
  return failure.code == CUDA_SUCCESS ? CUDA_SUCCESS : fail(failure.code, failure.text);
}

CUresult run_all() { return run_until(schedule().ends()); }

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
  schedule().clear_failure();
}

void reset_calls() {
  for (auto& count : call_counts) count = 0;
}

}  // namespace sinter::host
