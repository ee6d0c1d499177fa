// What the entry points of the host driver share.
#pragma once

#include "runtime/driver/host/execution/execute.h"
#include "runtime/driver/host/handles.h"
#include "runtime/driver/host/host_driver.h"
#include "runtime/driver/host/stream_schedule.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>

namespace sinter::host {

/// The entry points, under the driver's names; table.cpp wraps each into what the table holds.
namespace entry {
#define SYMBOL(NAME, VERSION, NEED, PARAMETERS) CUresult NAME PARAMETERS;
#include "runtime/driver/driver_symbols.def"
}  // namespace entry

// ---- Failures (table.cpp) ----

/// Returns `code`, with words for last_error().
CUresult fail(CUresult code, std::string text);
/// The same for words that are there already: without memory to keep them it fails without any.
CUresult fail(CUresult code, const char* text) noexcept;
/// Runs work until the points are reached; the device's failure, if it has one by then.
CUresult run_until(const std::vector<Point>& points);
/// Runs everything that is queued.
CUresult run_all();

// ---- Counters (counters.cpp) ----

void update_counters(const std::function<void(Counters&)>& change);

void reset_calls();

// ---- Contexts (context.cpp) ----

/// How many devices there are. They share the machine's memory and its threads.
inline constexpr int kDevices = 4;
/// The device of this thread's current context, where there is one.
CUdevice current_device();
CUcontext context_of(CUdevice device);
/// Why a call that needs a context cannot go on; success if it can.
CUresult check_context();
/// Total device memory.
std::uint64_t device_memory_bytes();

// ---- Streams (stream.cpp) ----

/// The stream; for null the legacy one of the current device; null if the handle is none.
std::shared_ptr<StreamState> find_stream(CUstream stream);
CUresult invalid_stream();
/// Host functions may not call the driver.
bool is_in_host_function();
void run_host_function(CUhostFn function, void* user_data);

// ---- Copies (copy.cpp) ----

/// Copies rows of bytes, checking that device and pinned memory is live at that time.
Failure run_copy(const CUDA_MEMCPY3D& copy);
Failure run_memset(const CUDA_MEMSET_NODE_PARAMS& memset);
/// Whether the ranges could be copied or set now; fails in words if not.
CUresult check_copy(const CUDA_MEMCPY3D& copy);
CUresult check_memset(const CUDA_MEMSET_NODE_PARAMS& memset);

// ---- Modules and launches (module.cpp, launch.cpp) ----

struct ModuleState;
struct FunctionState {
  std::shared_ptr<ModuleState> module;
  CUdevice device = 0;
  const device_abi::KernelInfo* kernel = nullptr;
  std::atomic<int> max_dynamic_shared_bytes = 48 << 10;
  std::atomic<bool> allows_large_clusters = false;
};
/// Null if the handle is no function (any more).
std::shared_ptr<FunctionState> find_function(CUfunction function);

struct LaunchShape {
  device_abi::Index3 grid, block;
  unsigned shared_bytes;
};
/// Does what the attribute says to the launch; fails in words if it cannot.
CUresult apply_attribute(CUlaunchAttributeID attribute, const CUlaunchAttributeValue& value,
                         KernelLaunch& launch);
/// Fails in words if the launch has clusters that are too large, or do not divide its grid.
CUresult check_clusters(const KernelLaunch& launch);
/// Fails in words if blocks that must run at once cannot: clusters, or those of a cooperative
/// launch.
CUresult check_residence(const KernelLaunch& launch);
/// Checks a launch and copies its parameters; fails in words if it is not valid.
CUresult make_launch(CUfunction function, const LaunchShape& shape, void** parameters, void** extra,
                     KernelLaunch& launch);
/// Runs it and records it in the counters.
Failure run_kernel(const KernelLaunch& launch);

// ---- Release of the context ----

void drop_streams_and_events();
void drop_modules();
void drop_graphs();

}  // namespace sinter::host
