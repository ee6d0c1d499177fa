// Calls of the user's functions, as a variant keeps them and a launch set makes them.
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

namespace sinter {

/// By name: what a graph calls.
using OpaqueFunctions = std::map<std::string, std::shared_ptr<const OpaqueFunction>, std::less<>>;
/// Those that nodes of `graph` call; throws UserError where one is not registered.
OpaqueFunctions functions_of(const GraphData& graph);

/// An operand or result of a call, for any sizes.
struct CallType {
  DType dtype = DType::f32;
  std::vector<Extent> shape;
  bool is_number = false;  ///< a run-time scalar
};

/// A call without the code of its function and without memory: what a saved executable has of it.
struct CallDescription {
  std::string function;  ///< by name
  std::string place;     ///< where it was recorded
  std::vector<OpaqueAttribute> attributes;
  std::vector<CallType> inputs;
  std::vector<CallType> outputs;
};
CallDescription describe_call(const Program& program, const Kernel& kernel);

/// How a call is laid out as if it were a kernel's launch: operands, results, then the memory that
/// its function works in. Results that nobody needs lie in front of that.
Source source_of_call(const Program& program, const Kernel& kernel);

/// The arrays of one call, with their shapes in numbers.
struct OpaqueArrays {
  std::vector<std::vector<std::int64_t>> shapes;  ///< of inputs, then of outputs
  std::vector<OpaqueArray> inputs;
  std::vector<OpaqueArray> outputs;
};

/// One call of a program. Immutable but for what is found out about it; shared by threads.
class OpaqueBinding {
 public:
  OpaqueBinding(CallDescription call, const OpaqueFunctions& functions, const Driver& driver);

  const OpaqueFunction& function() const { return *function_; }
  const CallDescription& call() const { return call_; }
  /// `opaque gemm`
  const std::string& called() const { return called_; }
  /// Throws UserError where its function does not make such calls.
  void check(std::span<const std::int64_t> symbols) const;
  /// What its function works in, at these sizes; what that throws is told as the call's.
  std::int64_t workspace_bytes(std::span<const std::int64_t> symbols) const;
  /// Throws UserError where an array of the call is more than what `source` has for it: no plan of
  /// ours has such, but a saved one may.
  void check_memory(const Source& source, const Program& program,
                    std::span<const std::int64_t> symbols) const;
  /// The call, `what`, and where it was recorded.
  std::string message(std::string_view what) const;
  /// Throws UserError with such a message.
  [[noreturn]] void fail(std::string_view what) const;

  /// Why a CUDA Graph cannot hold the call; empty as long as nothing is known against it.
  std::string capture_refusal() const;
  bool may_be_captured() const { return may_be_captured_.load(std::memory_order_acquire); }
  void set_capture_refusal(std::string why) const;

 private:
  friend class OpaqueLaunch;
  OpaqueArrays arrays(std::span<const std::int64_t> symbols) const;
  OpaqueSizes sizes(const OpaqueArrays& arrays) const;
  /// What `ask` gives; what it throws is told as the call's.
  template <class Ask>
  auto asked(std::string_view what, Ask ask) const;

  const Driver& driver_;
  const CallDescription call_;
  const std::shared_ptr<const OpaqueFunction> function_;
  const std::string called_;
  mutable std::atomic<bool> may_be_captured_;
  mutable std::mutex mutex_;
  mutable std::string why_not_captured_;
};

/// What the functions of a context have the CPU do on streams: it is kept until it is done.
class HostWorks {
 public:
  /// One piece, which the driver refers to.
  struct Work {
    std::function<void()> function;
    const OpaqueBinding* call = nullptr;
    HostWorks* works = nullptr;
    std::atomic<std::int64_t> runs = 0;
  };
  using Pieces = std::vector<std::unique_ptr<Work>>;

  /// Puts `function`, of `call`, on the stream and adds what must be kept for it to `pieces`.
  void enqueue(const DeviceState& device, CUstream stream, const OpaqueBinding& call,
               std::function<void()> function, Pieces& pieces);
  /// Throws UserError if a piece has thrown since the last time.
  void throw_if_failed();
  /// Keeps pieces that run once until they have. The list is made before there are any, since by
  /// now they may be on their way.
  void keep_until_run(std::list<Pieces> pieces) noexcept;

 private:
  static void carry_out(void* work);

  std::mutex mutex_;
  std::string failure_;
  std::list<Pieces> pending_;
};

/// One call in a launch set.
class OpaqueLaunch {
 public:
  explicit OpaqueLaunch(const OpaqueBinding& binding) : binding_(binding) {}

  const OpaqueBinding& binding() const { return binding_; }
  /// Notes sizes; true if they are others than before.
  bool set_symbols(std::span<const std::int64_t> symbols, std::int64_t workspace_bytes);
  /// True if no result has an element: then there is nothing to call.
  bool is_empty() const;
  /// Calls the function with `arguments`, laid out as in the Source, on `stream`. Throws UserError
  /// where it fails. `pieces` gets what it has the CPU do.
  void enqueue(void* const* arguments, const DeviceState& device, CUstream stream, HostWorks& works,
               HostWorks::Pieces& pieces);

 private:
  const OpaqueBinding& binding_;
  OpaqueArrays arrays_;
  std::int64_t workspace_bytes_ = 0;
};

}  // namespace sinter
