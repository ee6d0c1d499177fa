// The state and the functions that the entry points of the host driver share.
#pragma once

#include "runtime/driver/host/execution/execute.h"
#include "runtime/driver/host/handles.h"
#include "runtime/driver/host/host_driver.h"
#include "runtime/driver/host/stream_scheduler.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>

namespace sinter::host {

/// The entry points, under the driver's names. driver_table.cpp wraps each one for the table.
namespace entry {
#define SYMBOL(NAME, VERSION, NEED, PARAMETERS) CUresult NAME PARAMETERS;
#include "runtime/driver/driver_symbols.def"
}  // namespace entry

// ---- Failures (driver_table.cpp) ----

/// Returns `code`, and sets the text of last_error().
CUresult fail(CUresult code, std::string text);
/// The same for a constant text. If there is no memory to copy it, the text stays empty.
CUresult fail(CUresult code, const char* text) noexcept;
/// The code of the failure, whose text becomes last_error(). Success if there is no failure.
CUresult result_of(Failure failure);
/// Runs work until the points are reached. Returns the failure of the device, if any.
CUresult run_until(const std::vector<Point>& points);

// ---- Counters (counters.cpp) ----

void update_counters(const std::function<void(Counters&)>& change);

void reset_calls();

// ---- Contexts (context.cpp) ----

/// The number of host devices. They share the machine's memory and threads.
inline constexpr int kDevices = 4;
/// The device of this thread's current context, which must exist.
CUdevice current_device();
/// The error of a call that needs a context; success if it may run.
CUresult check_context();
/// Total device memory.
std::uint64_t device_memory_bytes();

// ---- Streams (stream.cpp) ----

/// The stream of a handle; the legacy stream of the current device for null. Null if the handle is
/// invalid.
std::shared_ptr<StreamState> find_stream(CUstream stream);
CUresult invalid_stream();
/// True inside a host function, which may not call the driver.
bool is_in_host_function();
void run_host_function(CUhostFn function, void* user_data);

// ---- Copies (copy.cpp) ----

/// One side of a copy.
struct CopySide {
  std::uintptr_t start;
  bool is_device;  // must be device memory
};
struct CopyWork {
  CopySide to, from;
  std::size_t bytes;
};
/// A fill with the low `element_bytes` bytes of `value`.
struct FillWork {
  std::uintptr_t to;
  unsigned value;
  std::size_t element_bytes, bytes;
};
/// Copies the bytes. Fails if device or pinned memory is no longer allocated.
Failure run_copy(const CopyWork& copy);
Failure run_fill(const FillWork& fill);

// ---- Modules and launches (module.cpp, launch.cpp) ----

struct ModuleState;
struct FunctionState {
  std::shared_ptr<ModuleState> module;
  CUdevice device = 0;
  const device_abi::KernelInfo* kernel = nullptr;
  std::atomic<int> max_dynamic_shared_bytes = 48 << 10;
  std::atomic<bool> allows_large_clusters = false;
};
/// Null if the handle is invalid.
std::shared_ptr<FunctionState> find_function(CUfunction function);

struct LaunchShape {
  device_abi::Index3 grid, block;
  unsigned shared_bytes;
};
/// Applies the attribute to the launch. Fails with a text if it is not supported.
CUresult apply_attribute(CUlaunchAttributeID attribute, const CUlaunchAttributeValue& value,
                         KernelLaunch& launch);
/// Fails with a text if the clusters of the launch are too large or do not divide its grid.
CUresult check_clusters(const KernelLaunch& launch);
/// Fails with a text if blocks that must run at once cannot: those of a cluster, or of a
/// cooperative launch.
CUresult check_residence(const KernelLaunch& launch);
/// Checks a launch and copies its parameters. Fails with a text if it is invalid.
CUresult make_launch(CUfunction function, const LaunchShape& shape, void** parameters, void** extra,
                     KernelLaunch& launch);
/// Runs the launch and adds it to the counters. `prior`: see execute().
Failure run_kernel(const KernelLaunch& launch, PriorLaunches* prior = nullptr);

}  // namespace sinter::host
