// How a Context runs its kernels one by one to time them.
#include <fmt/format.h>

#include <algorithm>

#include "ir/support/round_up.h"
#include "runtime/device/stream_capture.h"
#include "runtime/device/timing_event.h"
#include "runtime/execution/context_state.h"
#include "runtime/execution/kernel_report.h"
#include "runtime/logging/counting.h"
#include "runtime/logging/trace.h"
#include "runtime/support/quartiles.h"
#include "sinter/error.h"
#include "sinter/profile.h"

namespace sinter {

namespace {

constexpr std::string_view kProfiling = "profiling";
// Copies of more take time in proportion, and memory that is better left to who is profiled.
constexpr std::int64_t kLargestCopy = std::int64_t{1} << 30;
constexpr std::int64_t kScratchAlignment = 256;

/// Versions of what is filled in that no Bound has: the copies of a profile, and nothing at all.
constexpr std::uint64_t kCopiesVersion = ~std::uint64_t{0};
constexpr std::uint64_t kNothingVersion = kCopiesVersion - 1;

void copy_on_device(DeviceState& device, CUdeviceptr to, CUdeviceptr from, std::int64_t bytes,
                    CUstream stream) {
  check(device.driver,
        device.driver.cuMemcpyDtoDAsync(to, from, static_cast<std::size_t>(bytes), stream),
        "cuMemcpyDtoDAsync", kProfiling);
}

/// Copies of the inputs that a run updates: it must find them as they are every time.
class UpdatedCopies {
 public:
  UpdatedCopies(DeviceState& device, const BindingsState& bindings) : device_(device) {
    bound_ = bindings.bound;
    bound_.version = kCopiesVersion;
    const std::vector<Slot>& slots = bindings.executable->interface.slots;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].kind != Slot::Kind::input || !slots[i].is_written) continue;
      const ArrayData& array = bindings.arrays[i]->data();
      if (array.bytes == 0) continue;
      // As far from a multiple of 256 as the original: what is aligned decides what is run.
      const CUdeviceptr shift = array.pointer % kScratchAlignment;
      copies_.push_back({.memory = std::make_unique<DeviceMemory>(
                             device, array.bytes + kScratchAlignment,
                             "a copy of the updated input " + slots[i].name + " for profiling"),
                         .original = array.pointer,
                         .bytes = array.bytes});
      copies_.back().at = copies_.back().memory->pointer + shift;
      bound_.values[i] = copies_.back().at;
    }
  }

  const Bound& bound() const { return bound_; }
  void restore(CUstream stream) const {
    for (const Copy& copy : copies_)
      copy_on_device(device_, copy.at, copy.original, copy.bytes, stream);
  }

 private:
  struct Copy {
    std::unique_ptr<DeviceMemory> memory;
    CUdeviceptr at = 0;
    CUdeviceptr original = 0;
    std::int64_t bytes = 0;
  };
  DeviceState& device_;
  Bound bound_;
  std::vector<Copy> copies_;
};

/// What stands for the best that the device can do.
class PlainCopy {
 public:
  PlainCopy(DeviceState& device, std::int64_t most_bytes) : device_(device) {
    std::size_t free = 0;
    std::size_t total = 0;
    check(device.driver, device.driver.cuMemGetInfo(&free, &total), "cuMemGetInfo", kProfiling);
    const auto room = std::min(kLargestCopy, static_cast<std::int64_t>(free / 4));
    half_ = std::min((most_bytes + 1) / 2, room);
    from_ = std::make_unique<DeviceMemory>(device, half_, "the source of a copy for profiling");
    to_ = std::make_unique<DeviceMemory>(device, half_, "the target of a copy for profiling");
  }

  /// Moves `bytes` in all, or as many as there is room for.
  void launch(std::int64_t bytes, CUstream stream) const {
    if (const std::int64_t half = std::min((bytes + 1) / 2, half_); half > 0)
      copy_on_device(device_, to_->pointer, from_->pointer, half, stream);
  }
  /// How often such a copy must be made to move `bytes`.
  double repeats(std::int64_t bytes) const {
    const std::int64_t half = (bytes + 1) / 2;
    return half <= half_ ? 1 : static_cast<double>(half) / static_cast<double>(half_);
  }

 private:
  DeviceState& device_;
  std::int64_t half_ = 0;
  std::unique_ptr<DeviceMemory> from_;
  std::unique_ptr<DeviceMemory> to_;
};

/// Pairs of events around pieces of work, and L2 emptied before each.
class PieceTimer {
 public:
  PieceTimer(DeviceState& device, CUstream stream, std::size_t pieces)
      : device_(device), stream_(stream), base_(make_timing_event(device, kProfiling)) {
    for (std::size_t i = 0; i < pieces; ++i)
      pairs_.push_back({.start = make_timing_event(device, kProfiling),
                        .end = make_timing_event(device, kProfiling)});
    if (!device.is_host)
      flush_ = std::make_unique<DeviceMemory>(device, 2 * device.target.l2_bytes,
                                              "memory that empties L2 before what is profiled");
    record(*base_);
    await(*base_);
    base_time_ = TraceClock::now();
  }

  bool is_cold() const { return flush_ != nullptr; }

  template <std::invocable Launch>
  void time(std::size_t piece, Launch launch) {
    const Driver& driver = device_.driver;
    if (flush_)
      check(driver,
            driver.cuMemsetD8Async(flush_->pointer, 0, static_cast<std::size_t>(flush_->bytes),
                                   stream_),
            "cuMemsetD8Async", kProfiling);
    record(*pairs_[piece].start);
    launch();
    record(*pairs_[piece].end);
    last_ = piece;
  }
  void wait() const {
    if (!pairs_.empty()) await(*pairs_[last_].end);
  }

  double microseconds(std::size_t piece) const {
    return elapsed(*pairs_[piece].start, *pairs_[piece].end);
  }
  /// When it began, by the clock of the host.
  TraceClock::time_point begin(std::size_t piece) const {
    return base_time_ + nanoseconds(elapsed(*base_, *pairs_[piece].start));
  }
  static std::chrono::nanoseconds nanoseconds(double microseconds) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(microseconds * 1e3 + 0.5));
  }

 private:
  struct Pair {
    std::unique_ptr<EventState> start;
    std::unique_ptr<EventState> end;
  };

  void record(const EventState& event) const {
    check(device_.driver, device_.driver.cuEventRecord(event.handle, stream_), "cuEventRecord",
          kProfiling);
  }
  void await(const EventState& event) const {
    check(device_.driver, device_.driver.cuEventSynchronize(event.handle), "cuEventSynchronize",
          kProfiling);
  }
  double elapsed(const EventState& start, const EventState& end) const {
    float milliseconds = 0;
    check(device_.driver,
          device_.driver.cuEventElapsedTime(&milliseconds, start.handle, end.handle),
          "cuEventElapsedTime", kProfiling);
    return 1e3 * static_cast<double>(milliseconds);
  }

  DeviceState& device_;
  CUstream stream_;
  std::unique_ptr<EventState> base_;
  TraceClock::time_point base_time_;
  std::unique_ptr<DeviceMemory> flush_;  ///< writing it empties L2; null on the host device
  std::vector<Pair> pairs_;
  std::size_t last_ = 0;
};

/// All that was measured of one kernel.
struct Samples {
  std::vector<double> kernel_us;
  std::vector<double> copy_us;
  std::vector<TraceClock::time_point> begins;  ///< only where there is a trace
};

KernelProfile empty_profile(const std::string& name, const KernelReport& report) {
  return {.name = name,
          .schedule = report.schedule,
          .launches = report.launches,
          .bytes_read = report.bytes_read,
          .bytes_written = report.bytes_written,
          .bytes_are_bounds = report.bytes_are_bounds || report.writes_are_bounds};
}

void summarise_samples(const Samples& samples, double copies, KernelProfile& kernel) {
  const Quartiles times = quartiles_of(samples.kernel_us);
  kernel.median_us = times.median;
  kernel.lower_quartile_us = times.lower;
  kernel.upper_quartile_us = times.upper;
  kernel.copy_us = copies * quartiles_of(samples.copy_us).median;
  if (kernel.median_us <= 0) return;
  kernel.gigabytes_per_second = static_cast<double>(kernel.bytes()) / kernel.median_us / 1e3;
  kernel.share_of_copy = kernel.copy_us / kernel.median_us;
}

/// One event per timed launch; each says what the profile says of its kernel, too.
void trace(const DeviceState& device, const Samples& samples, const KernelProfile& kernel) {
  for (std::size_t i = 0; i < samples.begins.size(); ++i) {
    const double microseconds = samples.kernel_us[i];
    TraceArguments arguments;
    arguments.add("bytes", kernel.bytes());
    arguments.add("gigabytes_per_second",
                  microseconds > 0 ? static_cast<double>(kernel.bytes()) / microseconds / 1e3 : 0);
    arguments.add("median_us", kernel.median_us);
    arguments.add("median_gigabytes_per_second", kernel.gigabytes_per_second);
    arguments.add("share_of_copy", kernel.share_of_copy);
    Trace::add_device({.name = device.name, .ordinal = device.ordinal}, kernel.name,
                      samples.begins[i], PieceTimer::nanoseconds(microseconds), arguments);
  }
}

}  // namespace

Profile ContextState::run_timed(const std::shared_ptr<StreamState>& stream,
                                const BindingsState& bindings, int repeats) {
  const InUse in_use(is_busy_, executable->interface);
  if (repeats < 1)
    fail_binding(executable->interface,
                 fmt::format("profile: {} repeats were asked for; ask for 1 or more", repeats));
  check_bindings(bindings);
  check_stream(*stream);
  DeviceState& device = executable->device;
  const CurrentContext current(device);
  check_can_wait("profile " + executable->interface.name, *stream);
  const CaptureModeGuard relaxed(device.driver);
  const TraceSpan span("profile", executable->interface.name);
  Lane& lane = lane_for(bindings.bound);
  follow_last_run(stream);
  use_arrays_slowly(stream, bindings.arrays);
  // What is under way when it fails uses memory, too.
  struct Finish {
    ContextState& context;
    const Lane& lane;
    bool is_done = false;
    ~Finish() {
      if (!is_done) context.finish_failed_run(lane);
    }
  };
  Finish finish{.context = *this, .lane = lane};
  const UpdatedCopies copies(device, bindings);

  const Variant& variant = lane.launches.variant();
  Profile result{.graph = executable->interface.name,
                 .device = device.name,
                 .target = executable->target,
                 .repeats = repeats};
  for (std::size_t i = 0; i < executable->interface.symbols.size(); ++i)
    result.sizes.push_back(
        fmt::format("{} = {}", executable->interface.symbols[i], bindings.bound.symbols[i]));
  const KernelReporter reporter(variant.program, bindings.bound.symbols);
  std::int64_t most_bytes = 0;
  for (std::size_t i = 0; i < variant.kernels.size(); ++i) {
    const Kernel& kernel = variant.program.kernels[i];
    const VariantKernel& made = variant.kernels[i];
    result.kernels.push_back(
        empty_profile(kernel.name, reporter.report(kernel, made.schedule, made.source)));
    most_bytes = std::max(most_bytes, result.kernels.back().bytes());
  }
  const PlainCopy plain_copy(device, most_bytes);

  // What is filled in is of use to no later run, whatever happens.
  struct Forget {
    Lane& lane;
    ~Forget() { lane.version = kNothingVersion; }
  };
  const Forget forget{lane};
  fill_in(lane, copies.bound(), stream->handle);
  const std::span<PreparedLaunch> launches = lane.launches.launches();
  PieceTimer timer(device, stream->handle, 2 * launches.size());
  std::vector<Samples> samples(launches.size());
  for (int repeat = 0; repeat <= repeats; ++repeat) {
    copies.restore(stream->handle);
    for (std::size_t i = 0; i < launches.size(); ++i) {
      if (launches[i].is_empty) continue;
      timer.time(2 * i, [&] { launch(lane, i); });
      count(Count::kernel_launches);
      timer.time(2 * i + 1, [&] { plain_copy.launch(result.kernels[i].bytes(), stream->handle); });
    }
    timer.wait();
    if (repeat == 0) continue;  // the first loads code and fills what is remembered of pages
    for (std::size_t i = 0; i < launches.size(); ++i) {
      if (launches[i].is_empty) continue;
      samples[i].kernel_us.push_back(timer.microseconds(2 * i));
      samples[i].copy_us.push_back(timer.microseconds(2 * i + 1));
      if (Trace::is_on()) samples[i].begins.push_back(timer.begin(2 * i));
    }
  }
  finish.is_done = true;
  finish_run(lane);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    summarise_samples(samples[i], plain_copy.repeats(result.kernels[i].bytes()), result.kernels[i]);
    trace(device, samples[i], result.kernels[i]);
  }
  result.is_cold = timer.is_cold();
  result.caches = result.is_cold ? "L2 was emptied before each, and before each copy"
                                 : "caches are as the work before leaves them: the host device has "
                                   "no L2 to empty";
  return result;
}

}  // namespace sinter
