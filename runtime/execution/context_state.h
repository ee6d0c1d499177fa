// What a Context keeps between calls: launch sets, scratch memory, and where it ran last.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/binding/binding.h"
#include "runtime/execution/executable_state.h"
#include "runtime/execution/launch_set.h"
#include "runtime/execution/replay_graph.h"
#include "sinter/profile.h"

namespace sinter {

/// One variant as this context runs it.
struct Lane {
  Lane(std::shared_ptr<const Variant> variant, const ExecutableState& executable)
      : launches(std::move(variant), executable.interface), graph(executable.device) {}

  LaunchSet launches;
  ReplayGraph graph;
  std::uint64_t version = 0;          ///< of the Bound that is filled in
  std::uint64_t scratch_version = 0;  ///< of the scratch memory that it points into
  std::unique_ptr<DeviceMemory> tables;
  std::uint64_t scratch_stream = 0;  ///< that uses the scratch memory, and the tables, last
  std::shared_ptr<EventState>
      tables_copied;  ///< until then, `launches` must leave them as they are
  bool is_copying = false;
};

/// Marks the context as in use, or says that it is.
class InUse {
 public:
  InUse(std::atomic<bool>& flag, const Interface& interface);
  ~InUse() { flag_.store(false, std::memory_order_release); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  std::atomic<bool>& flag_;
};

struct Unfinished;

struct ContextState {
  explicit ContextState(std::shared_ptr<ExecutableState> executable);
  ~ContextState();
  ContextState(const ContextState&) = delete;
  ContextState& operator=(const ContextState&) = delete;

  void run_named(const std::shared_ptr<StreamState>& stream, BindingList inputs,
                 BindingList outputs, bool as_graph);
  void run_prepared(const std::shared_ptr<StreamState>& stream, const BindingsState& bindings,
                    bool as_graph);
  /// Launches with copies of what is updated, kernel by kernel, and times each; profile_run.cpp.
  Profile run_timed(const std::shared_ptr<StreamState>& stream, const BindingsState& bindings,
                    int repeats);

  const std::shared_ptr<ExecutableState> executable;
  std::vector<std::unique_ptr<Lane>> lanes;
  std::int64_t kernel_launches = 0;
  /// Of opaque calls; shared with CUDA Graphs of the caller's that they were captured into.
  const std::shared_ptr<HostWorks> host_works = std::make_shared<HostWorks>();

 private:
  /// Launches with what is bound, planning first if it must, with the device's context current.
  void run(const std::shared_ptr<StreamState>& stream, const Bound& bound, bool as_graph);
  /// Makes a run part of what `stream` captures; captured_run.cpp. `arrays` are kept for as long as
  /// that can be launched.
  void capture(const StreamState& stream, const Bound& bound, std::vector<Array> arrays);
  /// Whether a run on `stream` becomes part of a CUDA Graph of the caller's.
  bool is_captured(const StreamState& stream) const;
  /// Throw UserError where they were made for something else.
  void check_bindings(const BindingsState& bindings) const;
  void check_stream(const StreamState& stream) const;
  void launch(Lane& lane, std::size_t number);
  void log_launches(Lane& lane, bool as_graph) const;
  Lane& lane_for(const Bound& bound);
  Lane& change_lane(const Bound& bound);
  void fill_in(Lane& lane, const Bound& bound, CUstream stream);
  /// Tells the memory of what is bound, `version` of a Bound, that work on `stream` uses it.
  void use_arrays(const std::shared_ptr<StreamState>& stream, std::uint64_t version,
                  const auto& arrays);
  void use_arrays_slowly(const std::shared_ptr<StreamState>& stream, const auto& arrays);
  void use_scratch(Lane& lane);
  /// What wrapped streams mark the end of each run with.
  const std::shared_ptr<EventState>& end_event();
  void reserve_scratch(const ScratchLayout& layout, CUstream stream);
  void reserve_tables(Lane& lane);
  void copy_tables(Lane& lane, CUstream stream);
  void await_tables(Lane& lane);
  void follow_last_run(const std::shared_ptr<StreamState>& stream);
  void finish_run(const Lane& lane);
  void finish_failed_run(const Lane& lane);
  void mark_end();
  /// Leaves what the last run needs to be released when that can be waited for.
  void leave_unfinished() noexcept;
  /// What a failed call has to do with, for its message.
  std::string after_last_run() const;

  std::atomic<bool> is_busy_ = false;
  Matcher matcher_;
  Bound bound_;                   ///< of calls by name
  Lane* lane_ = nullptr;          ///< the last one used
  std::uint64_t generation_ = 0;  ///< of the executable when it was taken
  std::unique_ptr<DeviceMemory> arena_;
  std::unique_ptr<DeviceMemory> tickets_;
  std::uint64_t scratch_version_ = 1;
  std::shared_ptr<StreamState> stream_;  ///< of the last run
  std::shared_ptr<EventState> end_;      ///< of the last run, made when first needed
  bool is_end_marked_ = false;           ///< `end_` was recorded after the last run
  bool is_end_lost_ = false;  ///< it could not be, though nobody can ask the stream for its end
  /// The Bound whose arrays know that they are used, by which stream, and whether they
  /// count on `end_`, since somebody else owns that.
  std::uint64_t used_version_ = 0;
  std::uint64_t used_stream_ = 0;
  bool marks_end_ = false;
  /// Empty, and there so that leave_unfinished needs no memory.
  std::unique_ptr<Unfinished> unfinished_;
};

}  // namespace sinter
