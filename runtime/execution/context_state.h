// The state that a Context keeps between calls: launch sets, scratch memory and the last stream.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/binding/binding.h"
#include "runtime/execution/collective_stream.h"
#include "runtime/execution/engine_replay.h"
#include "runtime/execution/executable_state.h"
#include "runtime/execution/launch_set.h"
#include "runtime/execution/replay_graph.h"
#include "runtime/execution/size_counter.h"
#include "runtime/execution/table_uploads.h"
#include "sinter/profile.h"

namespace sinter {

/// The launch set, the CUDA Graph and the tables of one variant in one context.
struct VariantState {
  VariantState(std::shared_ptr<const Variant> variant, const ExecutableState& executable,
               const GroupCommunicators& communicators, HostFunctions& host_functions)
      : launches(std::move(variant), executable.interface, communicators),
        graph(executable.device, launches, host_functions),
        collectives(executable.device, launches),
        engine_replay(launches, communicators),
        table_uploads(executable.device) {}

  /// Lets the launches use the scratch memory and the tables, which may be null.
  void set_scratch(const DeviceMemory* arena, const DeviceMemory* tickets) {
    const auto pointer = [](const DeviceMemory* memory) { return memory ? memory->pointer : 0; };
    launches.set_scratch(pointer(arena), pointer(tickets), pointer(tables.get()));
  }

  LaunchSet launches;
  ReplayGraph graph;
  CollectiveStream collectives;
  EngineReplay engine_replay;
  std::uint64_t version = 0;  ///< CheckedArguments::version of the values in `launches`; 0: none
  std::uint64_t scratch_version = 0;  ///< of the scratch memory that `launches` points into
  std::unique_ptr<DeviceMemory> tables;
  std::uint64_t scratch_stream = 0;  ///< id of the last stream to use the scratch memory and tables
  TableUploads table_uploads;
};

/// Locks a context. Does not wait: throws UserError if another thread has locked it.
class ContextLock {
 public:
  ContextLock(std::atomic<bool>& flag, const Interface& interface);
  ~ContextLock() { flag_.store(false, std::memory_order_release); }
  ContextLock(const ContextLock&) = delete;
  ContextLock& operator=(const ContextLock&) = delete;

 private:
  std::atomic<bool>& flag_;
};

struct DeferredContextRelease;

struct ContextState {
  /// `weights` may be null.
  ContextState(std::shared_ptr<ExecutableState> executable, std::shared_ptr<const Weights> weights,
               GroupCommunicators communicators);
  ~ContextState();
  ContextState(const ContextState&) = delete;
  ContextState& operator=(const ContextState&) = delete;

  void run_named(const std::shared_ptr<StreamState>& stream, BindingList inputs,
                 BindingList outputs, bool as_graph);
  void run_prepared(const std::shared_ptr<StreamState>& stream, const BindingsState& bindings,
                    bool as_graph);
  /// Launches kernel by kernel, with copies of the updated inputs, and times each kernel. Defined
  /// in profile_run.cpp.
  Profile profile(const std::shared_ptr<StreamState>& stream, const BindingsState& bindings,
                  int repeats);

  const std::shared_ptr<ExecutableState> executable;
  const std::shared_ptr<const Weights> weights;
  const GroupCommunicators communicators;
  /// Host work of opaque calls. The caller's CUDA Graphs that captured them share it.
  const std::shared_ptr<HostFunctions> host_functions = std::make_shared<HostFunctions>();
  std::vector<std::unique_ptr<VariantState>> variant_states;  ///< they refer to `host_functions`
  std::int64_t kernel_launches = 0;

 private:
  /// Launches with the values of `bound`; makes a variant first if none serves them. The device's
  /// context must be current.
  void run(const std::shared_ptr<StreamState>& stream, const CheckedArguments& bound,
           bool as_graph);
  /// Adds a run to the graph that `stream` captures, and keeps `arrays` alive as long as that graph
  /// can be launched. Defined in captured_run.cpp.
  void capture(const StreamState& stream, const CheckedArguments& bound, std::vector<Array> arrays);
  /// Throw UserError if they belong to another executable or device.
  void check_bindings(const BindingsState& bindings) const;
  void check_stream(const StreamState& stream) const;
  void launch(VariantState& state, std::size_t number);
  void log_launches(VariantState& state, bool as_graph) const;
  VariantState& state_for(const CheckedArguments& bound);
  VariantState& select_state(const CheckedArguments& bound);
  void update_arguments(VariantState& state, const CheckedArguments& bound, CUstream stream);
  /// Registers with the memory of the bound arrays that work on `stream` uses it. `version` is
  /// CheckedArguments::version.
  void register_array_uses(const std::shared_ptr<StreamState>& stream, std::uint64_t version,
                           const auto& arrays);
  void register_array_uses_slow_path(const std::shared_ptr<StreamState>& stream,
                                     const auto& arrays);
  void register_scratch_use(VariantState& state);
  /// The event that marks the end of a run; created at the first call.
  const std::shared_ptr<EventState>& end_event();
  void reserve_scratch(const ScratchLayout& layout, CUstream stream);
  void reserve_tables(VariantState& state);
  void order_after_last_run(const std::shared_ptr<StreamState>& stream);
  void finish_run(const VariantState& state);
  void finish_failed_run(const VariantState& state);
  void mark_end();
  /// Defers the release of everything that the last run uses until that run can be waited for.
  void defer_context_release() noexcept;
  /// The context of a failed driver call, for its error message.
  std::string last_run_context() const;

  std::atomic<bool> is_busy_ = false;
  ArgumentMatcher matcher_;
  SizeCounter size_counter_;         ///< for Options::specialize
  CheckedArguments bound_;           ///< of calls that bind by name
  VariantState* current_ = nullptr;  ///< the last one used
  std::uint64_t generation_ = 0;     ///< of the executable when `current_` was chosen
  std::unique_ptr<DeviceMemory> arena_;
  std::unique_ptr<DeviceMemory> tickets_;
  std::uint64_t scratch_version_ = 1;
  std::shared_ptr<StreamState> stream_;  ///< of the last run
  std::shared_ptr<EventState> end_;      ///< of the last run; created when first needed
  bool is_end_marked_ = false;           ///< `end_` was recorded after the last run
  /// Recording `end_` failed, and the wrapped stream may be gone.
  bool has_end_record_failed_ = false;
  /// Version of the CheckedArguments whose arrays were last registered as in use.
  std::uint64_t registered_version_ = 0;
  std::uint64_t registered_stream_ = 0;  ///< id of the stream that they were registered with
  /// Those arrays rely on `end_`, because the stream is not owned by sinter.
  bool marks_end_ = false;
  /// Allocated in advance, so that defer_context_release does not allocate.
  std::unique_ptr<DeferredContextRelease> deferred_release_;
};

}  // namespace sinter
