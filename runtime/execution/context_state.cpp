#include "runtime/execution/context_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/device/stream_capture.h"
#include "runtime/driver/deferred_release.h"
#include "runtime/logging/counting.h"
#include "runtime/logging/debug_log.h"
#include "runtime/logging/trace.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// Tells the process, once for all launches of a run, what a context has counted.
class CountedSince {
 public:
  explicit CountedSince(const std::int64_t& launches) : launches_(launches), before_(launches) {}
  ~CountedSince() { count(Count::kernel_launches, launches_ - before_); }
  CountedSince(const CountedSince&) = delete;
  CountedSince& operator=(const CountedSince&) = delete;

 private:
  const std::int64_t& launches_;
  const std::int64_t before_;
};

inline void launch_kernel(const ExecutableState& executable, Lane& lane,
                          const PreparedLaunch& launch) {
  const Driver& driver = executable.device.driver;
  check(driver,
        driver.cuLaunchKernelEx(&launch.config, launch.function, launch.parameters,
                                /*extra=*/nullptr),
        "cuLaunchKernelEx", [&] {
          const auto number = static_cast<std::size_t>(&launch - lane.launches.launches().data());
          return fmt::format("kernel {} of {}",
                             lane.launches.variant().kernels[number].source.entry,
                             executable.interface.name);
        });
}

template <bool kIsTraced>
void launch_all(const ExecutableState& executable, Lane& lane, HostWorks& works,
                std::int64_t& launched) {
  for (const PreparedLaunch& launch : lane.launches.launches()) {
    if (!launch.is_kernel) [[unlikely]] {
      if (launch.is_empty) continue;
      const TraceSpan span("launch", launch.call->binding().called());
      make_call(executable.device, launch, works);
      ++launched;
      continue;
    }
    if constexpr (kIsTraced) {
      const auto number = static_cast<std::size_t>(&launch - lane.launches.launches().data());
      const TraceSpan span("launch", lane.launches.variant().program.kernels[number].name);
      launch_kernel(executable, lane, launch);
    } else {
      launch_kernel(executable, lane, launch);
    }
    ++launched;
  }
}

/// Copies for a graph that is captured, which no stream that used the memory before is ordered
/// with.
std::vector<Array> copies_of(const auto& arrays) {
  std::vector<Array> copies;
  for (const auto& array : arrays) {
    if (!array) continue;
    if (const DeviceMemory* memory = array->data().memory.get()) memory->await_former();
    copies.push_back(*array);
  }
  return copies;
}

}  // namespace

/// What a context leaves whose last run nobody can wait for yet, since its stream is being
/// captured.
struct Unfinished : DeferredRelease {
  using DeferredRelease::DeferredRelease;

  std::shared_ptr<StreamState> stream;
  bool is_end_lost = false;  ///< the stream may be gone
  std::shared_ptr<HostWorks> works;
  std::vector<std::unique_ptr<Lane>> lanes;
  std::unique_ptr<DeviceMemory> arena;
  std::unique_ptr<DeviceMemory> tickets;

  bool is_releasable(const DeviceState* idle) const noexcept override {
    if (is_end_lost) return idle == &stream->device;
    const Driver& driver = stream->device.driver;
    const ReleaseContext current(stream->device);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (driver.cuStreamIsCapturing(stream->handle, &status) == CUDA_SUCCESS &&
        status != CU_STREAM_CAPTURE_STATUS_NONE)
      return false;
    log_failed_release(driver, driver.cuStreamSynchronize(stream->handle), "cuStreamSynchronize");
    return true;
  }
};

InUse::InUse(std::atomic<bool>& flag, const Interface& interface) : flag_(flag) {
  if (flag_.exchange(true, std::memory_order_acquire)) [[unlikely]]
    throw UserError(
        fmt::format("{}: another thread is in this Context; make one Context per thread "
                    "(compiled at {})",
                    interface.name, interface.place));
}

ContextState::ContextState(std::shared_ptr<ExecutableState> given)
    : executable(std::move(given)),
      matcher_(executable->interface),
      unfinished_(std::make_unique<Unfinished>(executable->device.driver)) {}

ContextState::~ContextState() {
  if (!stream_) return;
  const Driver& driver = executable->device.driver;
  const ReleaseContext current(executable->device);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (!is_end_marked_ && stream_->is_owned &&
      driver.cuStreamIsCapturing(stream_->handle, &status) == CUDA_SUCCESS &&
      status != CU_STREAM_CAPTURE_STATUS_NONE) {
    leave_unfinished();
    return;
  }
  if (is_end_lost_) {
    const CUresult result = driver.cuCtxSynchronize();
    if (is_of_captures(result))
      leave_unfinished();
    else
      log_failed_release(driver, result, "cuCtxSynchronize");
  } else if (is_end_marked_) {
    log_failed_release(driver, driver.cuEventSynchronize(end_->handle), "cuEventSynchronize");
  } else if (stream_->is_owned) {
    log_failed_release(driver, driver.cuStreamSynchronize(stream_->handle), "cuStreamSynchronize");
  }
}

void ContextState::leave_unfinished() noexcept {
  unfinished_->stream = stream_;
  unfinished_->is_end_lost = is_end_lost_;
  unfinished_->works = host_works;
  unfinished_->lanes = std::move(lanes);
  unfinished_->arena = std::move(arena_);
  unfinished_->tickets = std::move(tickets_);
  defer_release(unfinished_.release());
}

bool ContextState::is_captured(const StreamState& stream) const {
  return sinter::is_captured(executable->interface.name, stream);
}

void ContextState::run_named(const std::shared_ptr<StreamState>& stream, BindingList inputs,
                             BindingList outputs, bool as_graph) {
  const InUse in_use(is_busy_, executable->interface);
  const Matched& matched = matcher_.match(inputs, outputs);
  check_and_update(executable->interface, executable->device, matched, bound_);
  check_stream(*stream);
  const CurrentContext current(executable->device);
  if (is_captured(*stream)) [[unlikely]]
    return capture(*stream, bound_, copies_of(matched.handles));
  use_arrays(stream, bound_.version, matched.handles);
  run(stream, bound_, as_graph);
}

void ContextState::run_prepared(const std::shared_ptr<StreamState>& stream,
                                const BindingsState& bindings, bool as_graph) {
  const InUse in_use(is_busy_, executable->interface);
  check_bindings(bindings);
  check_stream(*stream);
  const CurrentContext current(executable->device);
  if (is_captured(*stream)) [[unlikely]]
    return capture(*stream, bindings.bound, copies_of(bindings.arrays));
  use_arrays(stream, bindings.bound.version, bindings.arrays);
  run(stream, bindings.bound, as_graph);
}

inline void ContextState::use_arrays(const std::shared_ptr<StreamState>& stream,
                                     std::uint64_t version, const auto& arrays) {
  if (used_version_ == version && used_stream_ == stream->id) [[likely]]
    return;
  use_arrays_slowly(stream, arrays);
  used_version_ = version;
  used_stream_ = stream->id;
}

void ContextState::check_bindings(const BindingsState& bindings) const {
  if (bindings.executable == executable) [[likely]]
    return;
  if (&bindings.executable->device != &executable->device)
    fail_binding(executable->interface,
                 fmt::format("the Bindings were made on {} but the program was compiled for {}; "
                             "bind arrays of that device in a Context of this program",
                             in_words(bindings.executable->device), in_words(executable->device)));
  fail_binding(
      executable->interface,
      fmt::format("the Bindings were made for {}, compiled at {}; bind in a Context of this "
                  "program",
                  bindings.executable->interface.name, bindings.executable->interface.place));
}

void ContextState::check_stream(const StreamState& stream) const {
  if (&stream.device == &executable->device) [[likely]]
    return;
  fail_binding(executable->interface,
               fmt::format("the stream is on device {} but the program was compiled for {}; take a "
                           "stream of that device",
                           in_words(stream.device), in_words(executable->device)));
}

void ContextState::launch(Lane& lane, std::size_t number) {
  const PreparedLaunch& launch = lane.launches.launches()[number];
  if (launch.call)
    make_call(executable->device, launch, *host_works);
  else
    launch_kernel(*executable, lane, launch);
  ++kernel_launches;
}

void ContextState::run(const std::shared_ptr<StreamState>& stream, const Bound& bound,
                       bool as_graph) {
  const TraceSpan span("launch", [&] {
    return fmt::format("{} {}", as_graph ? "replay" : "run", executable->interface.name);
  });
  Lane& lane = lane_for(bound);
  follow_last_run(stream);
  if (lane.launches.has_calls()) [[unlikely]]
    host_works->throw_if_failed();
  try {
    fill_in(lane, bound, stream->handle);
    if (as_graph) {
      lane.graph.bring_up_to_date(lane.launches, *host_works);
      lane.graph.launch(lane.launches, stream->handle, *host_works);
    } else {
      const CountedSince counted(kernel_launches);
      // Asked once: launches are what a short call consists of.
      if (Trace::is_on()) [[unlikely]]
        launch_all</*kIsTraced=*/true>(*executable, lane, *host_works, kernel_launches);
      else
        launch_all</*kIsTraced=*/false>(*executable, lane, *host_works, kernel_launches);
    }
  } catch (...) {
    // What was launched before is on its way.
    finish_failed_run(lane);
    throw;
  }
  finish_run(lane);
  if (is_logged(executable->options, LogLevel::launches)) [[unlikely]]
    log_launches(lane, as_graph);
}

void ContextState::log_launches(Lane& lane, bool as_graph) const {
  const std::span<PreparedLaunch> launches = lane.launches.launches();
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (launches[i].call) {
      write_log_line(executable->options,
                     fmt::format("{} {}: {}", as_graph ? "replay" : "run",
                                 executable->interface.name, launches[i].call->binding().called()));
      continue;
    }
    const CUlaunchConfig& config = launches[i].config;
    write_log_line(
        executable->options,
        fmt::format("{} {}: kernel {}, {} blocks of {} threads, {} bytes of shared memory",
                    as_graph ? "replay" : "run", executable->interface.name,
                    lane.launches.variant().program.kernels[i].name, config.gridDimX,
                    config.blockDimX, config.sharedMemBytes));
  }
}

Lane& ContextState::lane_for(const Bound& bound) {
  const bool is_latest = generation_ == executable->generation();
  if (lane_ && lane_->version == bound.version && is_latest) [[likely]]
    return *lane_;
  const bool same_facts = lane_ && is_latest &&
                          lane_->launches.variant().alignment == bound.alignment &&
                          lane_->launches.variant().unwritten_outputs == bound.unwritten_outputs &&
                          std::ranges::equal(lane_->launches.symbols(), bound.symbols);
  if (!same_facts) lane_ = &change_lane(bound);
  return *lane_;
}

Lane& ContextState::change_lane(const Bound& bound) {
  executable->check_sizes(bound.symbols);
  // Before the variant is taken, lest a newer one is missed.
  const std::uint64_t generation = executable->generation();
  std::shared_ptr<const Variant> variant = executable->variant_for(
      {.symbols = bound.symbols, .alignment = bound.alignment, .unwritten_outputs = bound.unwritten_outputs});
  auto found = std::ranges::find_if(lanes, [&](const std::unique_ptr<Lane>& lane) {
    return &lane->launches.variant() == variant.get();
  });
  if (found == lanes.end()) {
    lanes.push_back(std::make_unique<Lane>(std::move(variant), *executable));
    found = lanes.end() - 1;
  }
  Lane& lane = **found;
  if (!std::ranges::equal(lane.launches.symbols(), bound.symbols) || lane.version == 0) {
    await_tables(lane);
    // What fails on the way leaves sizes of which some have changed: they are set again.
    lane_ = nullptr;
    lane.version = 0;
    lane.launches.set_symbols(bound.symbols);
    lane.graph.sizes_changed();
    lane.scratch_version = 0;
  }
  generation_ = generation;
  return lane;
}

void ContextState::fill_in(Lane& lane, const Bound& bound, CUstream stream) {
  if (lane.scratch_version != scratch_version_) [[unlikely]] {
    reserve_scratch(lane.launches.layout(), stream);
    await_tables(lane);
    reserve_tables(lane);
    lane.scratch_stream = 0;
    const auto pointer = [](const std::unique_ptr<DeviceMemory>& memory) {
      return memory ? memory->pointer : 0;
    };
    lane.launches.set_scratch(pointer(arena_), pointer(tickets_), pointer(lane.tables));
    lane.scratch_version = scratch_version_;
  }
  if (lane.version != bound.version) {
    await_tables(lane);
    lane.launches.set_values(bound.values);
    lane.version = bound.version;
  }
  lane.launches.set_stream(stream);
  if (lane.scratch_stream != stream_->id) [[unlikely]]
    use_scratch(lane);
  if (lane.tables) copy_tables(lane, stream);
}

std::string ContextState::after_last_run() const {
  return fmt::format("waiting for the last run of {}", executable->interface.name);
}

void ContextState::follow_last_run(const std::shared_ptr<StreamState>& stream) {
  if (stream_ && stream_->id == stream->id && stream->handle != per_thread_stream()) [[likely]]
    return;
  const Driver& driver = executable->device.driver;
  if (is_end_lost_) {
    const CaptureModeGuard relaxed(driver);
    check(driver, driver.cuCtxSynchronize(), "cuCtxSynchronize", [&] { return after_last_run(); });
    is_end_lost_ = false;
  } else if (stream_ && stream_->is_owned && !is_end_marked_) {
    // What is recorded there now would be a part of the capture.
    if (sinter::is_captured(after_last_run(), *stream_))
      throw UserError(fmt::format(
          "{}: the last run of this Context was on a stream that is being captured now, so that "
          "this run on another one cannot wait for it; end the capture, run on that stream, or "
          "make a Context for each stream (compiled at {})",
          executable->interface.name, executable->interface.place));
    mark_end();
  }
  if (is_end_marked_)
    check(driver, driver.cuStreamWaitEvent(stream->handle, end_->handle, /*flags=*/0),
          "cuStreamWaitEvent", [&] { return after_last_run(); });
  stream_ = stream;
}

void ContextState::finish_run(const Lane& lane) {
  const ScratchLayout& layout = lane.launches.layout();
  const bool uses_ours = layout.arena_bytes > 0 || layout.tickets > 0 || layout.table_bytes > 0 ||
                         lane.launches.has_calls();
  if (!marks_end_ && (stream_->is_owned || !uses_ours)) {
    // On a stream of somebody else's the last mark is still behind all that uses what is ours.
    if (stream_->is_owned) is_end_marked_ = false;
    return;
  }
  // A stream of somebody else's may be gone when the next run would ask it for its end.
  is_end_marked_ = false;
  is_end_lost_ = true;
  mark_end();
  is_end_lost_ = false;
}

void ContextState::finish_failed_run(const Lane& lane) {
  try {
    finish_run(lane);
  } catch (const std::exception&) {
    // What failed first is told.
  }
}

void ContextState::mark_end() {
  const Driver& driver = executable->device.driver;
  const CUresult result = driver.cuEventRecord(end_event()->handle, stream_->handle);
  end_->is_lost = result != CUDA_SUCCESS;
  check(driver, result, "cuEventRecord", [&] { return after_last_run(); });
  is_end_marked_ = true;
}

}  // namespace sinter
