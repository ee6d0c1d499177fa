// The objects behind the driver's handles, except CUDA Graphs.
#pragma once

#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/virtual_gpu/driver/configuration.h"
#include "tests/virtual_gpu/driver/handles.h"
#include "tests/virtual_gpu/driver/kernel_info.h"
#include "tests/virtual_gpu/driver/operation.h"
#include "tests/virtual_gpu/driver/order.h"

namespace sinter::virtual_gpu::driver {

struct Device;
struct ContextObject;
struct CaptureSequence;
struct NodeObject;

/// A piece of enqueued work, or a marker between others.
struct Task {
  enum class State : std::uint8_t { enqueued, running, done };

  std::uint64_t number = 0;  ///< in the order in which the host enqueued them
  std::shared_ptr<const Operation> operation;
  ContextObject* context = nullptr;
  OrderRecord order;
  /// Tasks that must have ended before this one starts.
  std::vector<std::shared_ptr<Task>> predecessors = {};
  /// Kernels that must have allowed their dependents to start; programmatic dependent launch.
  std::vector<std::shared_ptr<Task>> early_predecessors = {};
  std::vector<std::shared_ptr<Task>> dependents = {};
  std::size_t blockers = 0;  ///< predecessors that have not ended
  State state = State::enqueued;
  bool is_wanted = false;                       ///< a thread of the host waits for it
  bool is_late = false;                         ///< it starts only if it is wanted
  bool is_queried = false;                      ///< the host has seen that it was not done
  std::uint32_t serial = 0;                     ///< of the launch or copy
  std::uint64_t end_ns = 0;                     ///< of the device's clock
  std::shared_ptr<const void> keeps = nullptr;  ///< objects that it uses
};
using TaskPointer = std::shared_ptr<Task>;

struct StreamObject {
  static constexpr HandleKind kKind = HandleKind::stream;
  void* handle = nullptr;
  ContextObject* context = nullptr;
  bool is_legacy = false;
  bool is_blocking = true;  ///< it synchronises with the legacy stream
  bool is_destroyed = false;
  unsigned long long id = 0;

  OrderRecord last;  ///< the place of the newest task
  TaskPointer last_task = nullptr;
  std::vector<TaskPointer> tails = {};  ///< tasks that a new one must wait for

  std::shared_ptr<CaptureSequence> capture = nullptr;
  std::vector<NodeObject*> capture_tails = {};
  std::vector<CUgraphNode> reported_tails = {};  ///< of cuStreamGetCaptureInfo
};

struct EventObject {
  static constexpr HandleKind kKind = HandleKind::event;
  void* handle = nullptr;
  ContextObject* context = nullptr;
  unsigned flags = 0;
  TaskPointer marker = nullptr;  ///< of the last record; null: none
  /// Set if the last record was in a capture.
  std::shared_ptr<CaptureSequence> capture = nullptr;
  std::vector<NodeObject*> capture_tails = {};
};

struct ModuleObject {
  static constexpr HandleKind kKind = HandleKind::module;
  void* handle = nullptr;
  ContextObject* context = nullptr;
  std::shared_ptr<const Program> program;
  std::vector<KernelInfo> kernels;
  std::map<int, std::shared_ptr<FunctionObject>> functions = {};
};

struct FunctionObject {
  static constexpr HandleKind kKind = HandleKind::function;
  void* handle = nullptr;
  ContextObject* context = nullptr;
  std::shared_ptr<const Program> program;
  int entry = 0;
  KernelInfo info;
  int max_dynamic_shared = 0;
  int carveout = -1;
  bool allows_large_clusters = false;
  std::array<int, 3> cluster = {0, 0, 0};  ///< required; of the PTX or of attributes
  bool is_unloaded = false;
};

struct ContextObject {
  static constexpr HandleKind kKind = HandleKind::context;
  void* handle = nullptr;
  Device* device = nullptr;
  std::unique_ptr<Gpu> gpu;
  CUresult failure = CUDA_SUCCESS;  ///< of a kernel; every later call reports it
  std::shared_ptr<StreamObject> legacy;
  std::map<std::thread::id, std::shared_ptr<StreamObject>> per_thread = {};
  /// Streams with a handle, and destroyed ones whose work has not ended.
  std::vector<std::shared_ptr<StreamObject>> streams = {};
  std::vector<TaskPointer> running = {};  ///< kernels that the Gpu has started
  std::uint64_t clock_ns = 0;             ///< rises with the estimated time of each task
};

struct Device {
  int ordinal = 0;
  DeviceDescription description;
  GpuLimits limits;
  std::uint64_t memory_bytes = 0;
  int retained = 0;  ///< of the primary context
  std::shared_ptr<ContextObject> primary = nullptr;
};

}  // namespace sinter::virtual_gpu::driver
