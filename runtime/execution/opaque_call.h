// Opaque calls of the user's functions: their binding in a variant, and their launch.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "codegen/text/source.h"
#include "compiler/program/kernel.h"
#include "ir/record/opaque.h"
#include "runtime/device/device_state.h"
#include "runtime/libraries/algorithms/stored_algorithm.h"

namespace sinter {

/// The user's functions that a graph calls, by name.
using OpaqueFunctions = std::map<std::string, std::shared_ptr<const OpaqueFunction>, std::less<>>;
/// The functions that nodes of `graph` call. Throws UserError if a function is not registered.
OpaqueFunctions functions_of(const GraphData& graph);

/// An operand or result of a call, for any sizes.
struct CallType {
  DType dtype = DType::f32;
  std::vector<Extent> shape;
  bool is_number = false;  ///< a run-time scalar
};

/// A call without its function's code and without memory, as a saved executable stores it.
struct CallDescription {
  std::string function;  ///< its name
  std::string place;     ///< the source location that recorded it
  std::vector<OpaqueAttribute> attributes;
  std::vector<CallType> inputs;
  std::vector<CallType> outputs;
};
CallDescription describe_call(const Program& program, const Kernel& kernel);

/// Describes a call as if it were a kernel launch. Its arguments are the operands, the results,
/// then the workspace of the function. Unused results are stored in front of that workspace.
Source source_of_call(const Program& program, const Kernel& kernel);

/// The arrays of one call, with concrete shapes.
struct OpaqueArrays {
  std::vector<std::vector<std::int64_t>> shapes;  ///< of inputs, then of outputs
  std::vector<OpaqueArray> inputs;
  std::vector<OpaqueArray> outputs;
};

/// One call of a program. Immutable except for the capture refusal; threads may share it.
class OpaqueBinding {
 public:
  /// `algorithms` keeps the choices of libraries; it may be null.
  OpaqueBinding(CallDescription call, const OpaqueFunctions& functions, const DeviceState& device,
                std::shared_ptr<AlgorithmStore> algorithms = nullptr)
      : OpaqueBinding(std::move(call), functions, device.driver, device.is_host, device.ordinal,
                      std::move(algorithms)) {}
  OpaqueBinding(CallDescription call, const OpaqueFunctions& functions, const Driver& driver,
                bool is_host_device, int device,
                std::shared_ptr<AlgorithmStore> algorithms = nullptr);

  const OpaqueFunction& function() const { return *function_; }
  const CallDescription& call() const { return call_; }
  /// `opaque gemm`, or `matmul` for a library op
  const std::string& display_name() const { return display_name_; }
  /// True for collectives, which a device executes one after another.
  bool is_collective() const { return is_collective_; }
  /// The group of a collective; otherwise empty.
  std::string_view group() const;
  /// Throws UserError if its function rejects the call at these sizes.
  void check(std::span<const std::int64_t> symbols) const;
  void check(const OpaqueSizes& sizes) const;
  /// Workspace of its function at these sizes. Throws UserError if the workspace function throws or
  /// returns a bad size.
  std::int64_t workspace_bytes(std::span<const std::int64_t> symbols) const;
  /// Throws UserError if an array of the call does not fit in the memory that `source` assigns to
  /// it. Only a saved plan can contain this error.
  void check_memory(const Source& source, const Program& program,
                    std::span<const std::int64_t> symbols) const;
  /// An error text: the call, `what`, and the source location that recorded it.
  std::string message(std::string_view what) const;
  /// Throws UserError with that text.
  [[noreturn]] void fail(std::string_view what) const;

  /// Why a CUDA Graph cannot hold the call; empty if no reason is known yet.
  std::string capture_refusal() const;
  bool may_be_captured() const { return may_be_captured_.load(std::memory_order_acquire); }
  void set_capture_refusal(std::string why) const;

 private:
  friend class OpaqueLaunch;
  OpaqueArrays arrays(std::span<const std::int64_t> symbols) const;
  OpaqueSizes sizes(const OpaqueArrays& arrays) const;
  /// Calls `function`. Rethrows its exceptions as a UserError that names the call.
  template <class Function>
  auto call_user_function(std::string_view what, Function function) const;

  const Driver& driver_;
  const bool is_host_device_;
  const int device_;
  const std::shared_ptr<AlgorithmStore> algorithms_;
  const CallDescription call_;
  const std::shared_ptr<const OpaqueFunction> function_;
  const std::string display_name_;
  const bool is_collective_;
  mutable std::atomic<bool> may_be_captured_;
  mutable std::mutex mutex_;
  mutable std::string capture_refusal_;
};

/// The host functions that opaque calls of a context add to streams, kept alive until they ran.
class HostFunctions {
 public:
  /// One host function; the driver holds its address.
  struct HostFunction {
    std::function<void()> function;
    const OpaqueBinding* call = nullptr;
    HostFunctions* owner = nullptr;
    std::atomic<std::int64_t> runs = 0;
  };
  using List = std::vector<std::unique_ptr<HostFunction>>;

  /// Adds `function` of `call` to the stream, and its HostFunction to `list`, which must outlive
  /// it.
  void enqueue(const DeviceState& device, CUstream stream, const OpaqueBinding& call,
               std::function<void()> function, List& list);
  /// Throws UserError if a host function has thrown since the last time.
  void throw_if_failed();
  /// Keeps host functions that run once alive until they have run. The caller allocates `lists` in
  /// advance: the functions may be in flight already, so this call must not fail.
  void keep_alive_until_run(std::list<List> lists) noexcept;

 private:
  static void run(void* host_function);

  std::mutex mutex_;
  std::string failure_;
  std::list<List> pending_;
};

/// One call in a launch set.
class OpaqueLaunch {
 public:
  /// `communicator` is null unless the call is a collective.
  OpaqueLaunch(const OpaqueBinding& binding, CommunicatorEngine* communicator)
      : binding_(binding), communicator_(communicator) {}

  const OpaqueBinding& binding() const { return binding_; }
  /// Sets the sizes of the call. True if they differ from those before.
  bool set_symbols(std::span<const std::int64_t> symbols, std::int64_t workspace_bytes);
  /// True if no result has an element, so that the call is skipped.
  bool is_empty() const;
  /// Calls the function with `arguments`, in the order of source_of_call, on `stream`. Appends its
  /// host functions to `list`. Throws UserError if it fails.
  void enqueue(void* const* arguments, const DeviceState& device, CUstream stream,
               HostFunctions& host_functions, HostFunctions::List& list);

 private:
  OpaqueSizes sizes(const OpaqueArrays& arrays) const;

  const OpaqueBinding& binding_;
  CommunicatorEngine* const communicator_;
  OpaqueArrays arrays_;
  std::int64_t workspace_bytes_ = 0;
};

}  // namespace sinter
