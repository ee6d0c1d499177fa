#include "runtime/execution/context_state.h"

#include <fmt/format.h>
#include <llvm/ADT/ScopeExit.h>

#include <algorithm>

#include "runtime/device/stream_capture.h"
#include "runtime/driver/deferred_release.h"
#include "runtime/logging/counting.h"
#include "runtime/logging/debug_log.h"
#include "runtime/logging/trace.h"
#include "sinter/error.h"

namespace sinter {

namespace {

inline void launch_kernel(const ExecutableState& executable, VariantState& state,
                          const PreparedLaunch& launch) {
  const Driver& driver = executable.device.driver;
  // The first launch of a kernel may allocate its code and local memory.
  const CUresult result = executable.device.memory_pool->retry_after_trim([&] {
    return driver.cuLaunchKernelEx(&launch.config, launch.function, launch.parameters,
                                   /*extra=*/nullptr);
  });
  check(driver, result, "cuLaunchKernelEx", [&] {
    const auto number = static_cast<std::size_t>(&launch - state.launches.launches().data());
    return fmt::format("kernel {} of {}", state.launches.variant().kernels[number].source.entry,
                       executable.interface.name);
  });
}

template <bool kIsTraced>
void launch_all(const ExecutableState& executable, VariantState& state,
                HostFunctions& host_functions, std::int64_t& launched) {
  for (const PreparedLaunch& launch : state.launches.launches()) {
    if (!launch.is_kernel) [[unlikely]] {
      if (launch.is_empty) continue;
      const TraceSpan span("launch", launch.call->binding().display_name());
      make_call(executable.device, launch, host_functions);
      ++launched;
      continue;
    }
    if constexpr (kIsTraced) {
      const auto number = static_cast<std::size_t>(&launch - state.launches.launches().data());
      const TraceSpan span("launch", state.launches.variant().program.kernels[number].name);
      launch_kernel(executable, state, launch);
    } else {
      launch_kernel(executable, state, launch);
    }
    ++launched;
  }
}

/// The same with the collectives on a stream of their own.
void launch_beside_collectives(const ExecutableState& executable, VariantState& state,
                               CUstream stream, HostFunctions& host_functions,
                               std::int64_t& launched) {
  CollectiveStream& other = state.collectives;
  other.begin_run();
  auto join = llvm::make_scope_exit([&] { other.end_failed_run(stream); });
  const std::span<PreparedLaunch> launches = state.launches.launches();
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const PreparedLaunch& launch = launches[i];
    const bool is_collective = launch.call && launch.call->binding().is_collective();
    // Later launches may wait for an empty one in place of the collectives before it.
    if (launch.is_empty) {
      if (is_collective)
        other.mark_end(i);
      else
        other.wait_before(i, stream);
      continue;
    }
    const TraceSpan span("launch", [&] {
      return launch.call ? launch.call->binding().display_name()
                         : state.launches.variant().program.kernels[i].name;
    });
    if (is_collective) {
      make_call(executable.device, launch, other.enter(stream), host_functions);
      other.mark_end(i);
    } else {
      other.wait_before(i, stream);
      if (launch.call)
        make_call(executable.device, launch, host_functions);
      else
        launch_kernel(executable, state, launch);
    }
    ++launched;
  }
  join.release();
  other.end_run(stream);
}

/// Handles for a captured graph to hold. No stream orders that graph after earlier uses of pooled
/// memory, so the host waits for these uses here.
std::vector<Array> copies_of(const auto& arrays) {
  std::vector<Array> copies;
  for (const auto& array : arrays) {
    if (!array) continue;
    if (const DeviceMemory* memory = array->data().memory.get()) memory->await_previous_uses();
    copies.push_back(*array);
  }
  return copies;
}

}  // namespace

/// The resources of a destroyed context whose last run cannot be waited for yet, because its stream
/// is being captured.
struct DeferredContextRelease : DeferredRelease {
  using DeferredRelease::DeferredRelease;

  std::shared_ptr<StreamState> stream;
  bool has_end_record_failed = false;  ///< the stream may be gone
  std::shared_ptr<HostFunctions> host_functions;
  std::vector<std::shared_ptr<CommunicatorEngine>> engines;  ///< that the variants' calls use
  std::vector<std::unique_ptr<VariantState>> variant_states;
  std::unique_ptr<DeviceMemory> arena;
  std::unique_ptr<DeviceMemory> tickets;

  bool is_releasable(const DeviceState* idle) const noexcept override {
    if (has_end_record_failed) return idle == &stream->device;
    const Driver& driver = stream->device.driver;
    const CurrentContextNoThrow current(stream->device);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (driver.cuStreamIsCapturing(stream->handle, &status) == CUDA_SUCCESS &&
        status != CU_STREAM_CAPTURE_STATUS_NONE)
      return false;
    log_failed_release(driver, driver.cuStreamSynchronize(stream->handle), "cuStreamSynchronize");
    return true;
  }
};

ContextLock::ContextLock(std::atomic<bool>& flag, const Interface& interface) : flag_(flag) {
  if (flag_.exchange(true, std::memory_order_acquire)) [[unlikely]]
    throw UserError(
        fmt::format("{}: another thread is in this Context; make one Context per thread "
                    "(compiled at {})",
                    interface.name, interface.compiled_at));
}

ContextState::ContextState(std::shared_ptr<ExecutableState> given,
                           std::shared_ptr<const Weights> given_weights,
                           GroupCommunicators given_communicators)
    : executable(std::move(given)),
      weights(std::move(given_weights)),
      communicators(std::move(given_communicators)),
      matcher_(executable->interface, weights.get()),
      size_counter_(executable->specializes() ? executable->options.specialize : 0),
      deferred_release_(std::make_unique<DeferredContextRelease>(executable->device.driver)) {
  for (const auto& [group, engine] : communicators.engines())
    deferred_release_->engines.push_back(engine);
}

ContextState::~ContextState() {
  if (!stream_) return;
  const Driver& driver = executable->device.driver;
  const CurrentContextNoThrow current(executable->device);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (!is_end_marked_ && stream_->is_owned &&
      driver.cuStreamIsCapturing(stream_->handle, &status) == CUDA_SUCCESS &&
      status != CU_STREAM_CAPTURE_STATUS_NONE) {
    defer_context_release();
    return;
  }
  if (has_end_record_failed_) {
    const CUresult result = driver.cuCtxSynchronize();
    if (is_of_captures(result))
      defer_context_release();
    else
      log_failed_release(driver, result, "cuCtxSynchronize");
  } else if (is_end_marked_) {
    log_failed_release(driver, driver.cuEventSynchronize(end_->handle), "cuEventSynchronize");
  } else if (stream_->is_owned) {
    log_failed_release(driver, driver.cuStreamSynchronize(stream_->handle), "cuStreamSynchronize");
  }
}

void ContextState::defer_context_release() noexcept {
  deferred_release_->stream = stream_;
  deferred_release_->has_end_record_failed = has_end_record_failed_;
  deferred_release_->host_functions = host_functions;
  deferred_release_->variant_states = std::move(variant_states);
  deferred_release_->arena = std::move(arena_);
  deferred_release_->tickets = std::move(tickets_);
  defer_release(deferred_release_.release());
}

void ContextState::run_named(const std::shared_ptr<StreamState>& stream, BindingList inputs,
                             BindingList outputs, bool as_graph) {
  const ContextLock lock(is_busy_, executable->interface);
  const MatchedArguments& matched = matcher_.match(inputs, outputs);
  check_and_update(executable->interface, executable->device, matched, bound_);
  check_stream(*stream);
  const CurrentContext current(executable->device);
  if (is_captured(executable->interface.name, *stream)) [[unlikely]]
    return capture(*stream, bound_, copies_of(matched.handles));
  register_array_uses(stream, bound_.version, matched.handles);
  run(stream, bound_, as_graph);
}

void ContextState::run_prepared(const std::shared_ptr<StreamState>& stream,
                                const BindingsState& bindings, bool as_graph) {
  const ContextLock lock(is_busy_, executable->interface);
  check_bindings(bindings);
  check_stream(*stream);
  const CurrentContext current(executable->device);
  if (is_captured(executable->interface.name, *stream)) [[unlikely]]
    return capture(*stream, bindings.bound, copies_of(bindings.arrays));
  register_array_uses(stream, bindings.bound.version, bindings.arrays);
  run(stream, bindings.bound, as_graph);
}

inline void ContextState::register_array_uses(const std::shared_ptr<StreamState>& stream,
                                              std::uint64_t version, const auto& arrays) {
  if (registered_version_ == version && registered_stream_ == stream->id) [[likely]]
    return;
  register_array_uses_slow_path(stream, arrays);
  registered_version_ = version;
  registered_stream_ = stream->id;
}

void ContextState::check_bindings(const BindingsState& bindings) const {
  if (bindings.executable == executable) [[likely]]
    return;
  if (&bindings.executable->device != &executable->device)
    fail_binding(
        executable->interface,
        fmt::format("the Bindings were made on {} but the program was compiled for {}; "
                    "bind arrays of that device in a Context of this program",
                    to_string(bindings.executable->device), to_string(executable->device)));
  fail_binding(
      executable->interface,
      fmt::format("the Bindings were made for {}, compiled at {}; bind in a Context of this "
                  "program",
                  bindings.executable->interface.name, bindings.executable->interface.compiled_at));
}

void ContextState::check_stream(const StreamState& stream) const {
  if (&stream.device == &executable->device) [[likely]]
    return;
  fail_binding(executable->interface,
               fmt::format("the stream is on device {} but the program was compiled for {}; take a "
                           "stream of that device",
                           to_string(stream.device), to_string(executable->device)));
}

void ContextState::launch(VariantState& state, std::size_t number) {
  const PreparedLaunch& launch = state.launches.launches()[number];
  if (launch.call)
    make_call(executable->device, launch, *host_functions);
  else
    launch_kernel(*executable, state, launch);
  ++kernel_launches;
}

void ContextState::run(const std::shared_ptr<StreamState>& stream, const CheckedArguments& bound,
                       bool as_graph) {
  const TraceSpan span("launch", [&] {
    return fmt::format("{} {}", as_graph ? "replay" : "run", executable->interface.name);
  });
  VariantState& state = state_for(bound);
  if (size_counter_.count()) [[unlikely]]
    executable->specialize(state.launches.shared_variant(), need_of(bound));
  order_after_last_run(stream);
  if (state.launches.has_calls()) [[unlikely]]
    host_functions->throw_if_failed();
  try {
    update_arguments(state, bound, stream->handle);
    if (as_graph) {
      state.graph.update();
      if (state.launches.has_collectives()) [[unlikely]]
        state.engine_replay.launch(stream->handle,
                                       [&] { state.graph.launch(stream->handle); });
      else
        state.graph.launch(stream->handle);
    } else {
      // Adds the launches of the run to the counters of the process, all at once.
      const auto counted = llvm::make_scope_exit([this, before = kernel_launches] {
        count(Count::kernel_launches, kernel_launches - before);
      });
      // Checked once per run, since launches dominate the time of a short call.
      if (state.launches.has_collectives()) [[unlikely]]
        launch_beside_collectives(*executable, state, stream->handle, *host_functions,
                                  kernel_launches);
      else if (Trace::is_on()) [[unlikely]]
        launch_all</*kIsTraced=*/true>(*executable, state, *host_functions, kernel_launches);
      else
        launch_all</*kIsTraced=*/false>(*executable, state, *host_functions, kernel_launches);
    }
  } catch (...) {
    // The earlier launches of this run may still be in flight.
    finish_failed_run(state);
    throw;
  }
  finish_run(state);
  if (is_logged(executable->options, LogLevel::launches)) [[unlikely]]
    log_launches(state, as_graph);
}

void ContextState::log_launches(VariantState& state, bool as_graph) const {
  const std::span<PreparedLaunch> launches = state.launches.launches();
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (launches[i].call) {
      write_log_line(executable->options, fmt::format("{} {}: {}", as_graph ? "replay" : "run",
                                                      executable->interface.name,
                                                      launches[i].call->binding().display_name()));
      continue;
    }
    const CUlaunchConfig& config = launches[i].config;
    write_log_line(
        executable->options,
        fmt::format("{} {}: kernel {}, {} blocks of {} threads, {} bytes of shared memory",
                    as_graph ? "replay" : "run", executable->interface.name,
                    state.launches.variant().program.kernels[i].name, config.gridDimX,
                    config.blockDimX, config.sharedMemBytes));
  }
}

VariantState& ContextState::state_for(const CheckedArguments& bound) {
  const bool is_latest = generation_ == executable->generation();
  if (current_ && current_->version == bound.version && is_latest) [[likely]]
    return *current_;
  const bool same_facts =
      current_ && is_latest && current_->launches.variant().alignment == bound.alignment &&
      current_->launches.variant().unwritten_outputs == bound.unwritten_outputs &&
      std::ranges::equal(current_->launches.symbols(), bound.symbols);
  if (!same_facts) current_ = &select_state(bound);
  return *current_;
}

VariantState& ContextState::select_state(const CheckedArguments& bound) {
  // Read before the variant is chosen, so that a variant replaced meanwhile is noticed.
  const std::uint64_t generation = executable->generation();
  std::shared_ptr<const Variant> variant = executable->variant_for(need_of(bound));
  size_counter_.select(bound.symbols);
  auto found =
      std::ranges::find_if(variant_states, [&](const std::unique_ptr<VariantState>& state) {
        return &state->launches.variant() == variant.get();
      });
  if (found == variant_states.end()) {
    variant_states.push_back(
        std::make_unique<VariantState>(std::move(variant), *executable, communicators,
                                       *host_functions));
    found = variant_states.end() - 1;
  }
  VariantState& state = **found;
  if (!std::ranges::equal(state.launches.symbols(), bound.symbols) || state.version == 0) {
    // If a step below throws, some sizes have changed already. Version 0 makes the next call set
    // all of them again.
    current_ = nullptr;
    state.version = 0;
    state.launches.set_symbols(bound.symbols);
    state.graph.sizes_changed();
    state.collectives.sizes_changed();
    state.scratch_version = 0;
  }
  generation_ = generation;
  return state;
}

void ContextState::update_arguments(VariantState& state, const CheckedArguments& bound,
                                    CUstream stream) {
  if (state.scratch_version != scratch_version_) [[unlikely]] {
    reserve_scratch(state.launches.layout(), stream);
    reserve_tables(state);
    state.scratch_stream = 0;
    state.set_scratch(arena_.get(), tickets_.get());
    state.scratch_version = scratch_version_;
  }
  if (state.version != bound.version) {
    state.launches.set_values(bound.values);
    state.version = bound.version;
  }
  state.launches.set_stream(stream);
  if (state.scratch_stream != stream_->id) [[unlikely]]
    register_scratch_use(state);
  // The copies are in stream order, so that earlier launches still read the old contents.
  if (state.tables)
    state.table_uploads.upload(state.launches, stream, [&] {
      return fmt::format("the tables of {}", executable->interface.name);
    });
}

std::string ContextState::last_run_context() const {
  return fmt::format("waiting for the last run of {}", executable->interface.name);
}

void ContextState::order_after_last_run(const std::shared_ptr<StreamState>& stream) {
  if (stream_ && stream_->id == stream->id && stream->handle != per_thread_stream()) [[likely]]
    return;
  const Driver& driver = executable->device.driver;
  if (has_end_record_failed_) {
    const CaptureModeGuard relaxed(driver);
    check(driver, driver.cuCtxSynchronize(), "cuCtxSynchronize",
          [&] { return last_run_context(); });
    has_end_record_failed_ = false;
  } else if (stream_ && stream_->is_owned && !is_end_marked_) {
    // Recording an event on a captured stream would make it part of the capture.
    if (is_captured(last_run_context(), *stream_))
      throw UserError(fmt::format(
          "{}: the last run of this Context was on a stream that is being captured now, so "
          "this run on another stream cannot wait for it; end the capture, run on that stream, or "
          "make a Context for each stream (compiled at {})",
          executable->interface.name, executable->interface.compiled_at));
    mark_end();
  }
  if (is_end_marked_)
    check(driver, driver.cuStreamWaitEvent(stream->handle, end_->handle, /*flags=*/0),
          "cuStreamWaitEvent", [&] { return last_run_context(); });
  stream_ = stream;
}

void ContextState::finish_run(const VariantState& state) {
  const ScratchLayout& layout = state.launches.layout();
  const bool uses_ours = layout.arena_bytes > 0 || layout.tickets > 0 || layout.table_bytes > 0 ||
                         state.launches.has_calls();
  if (!marks_end_ && (stream_->is_owned || !uses_ours)) {
    // On a wrapped stream the last mark still follows every run that used our memory.
    if (stream_->is_owned) is_end_marked_ = false;
    return;
  }
  // A wrapped stream may be gone by the next run, so the end is marked now.
  is_end_marked_ = false;
  has_end_record_failed_ = true;
  mark_end();
  has_end_record_failed_ = false;
}

void ContextState::finish_failed_run(const VariantState& state) {
  try {
    finish_run(state);
  } catch (const std::exception&) {
    // The caller rethrows the first error.
  }
}

void ContextState::mark_end() {
  const Driver& driver = executable->device.driver;
  const CUresult result = driver.cuEventRecord(end_event()->handle, stream_->handle);
  end_->has_record_failed = result != CUDA_SUCCESS;
  check(driver, result, "cuEventRecord", [&] { return last_run_context(); });
  is_end_marked_ = true;
}

}  // namespace sinter
