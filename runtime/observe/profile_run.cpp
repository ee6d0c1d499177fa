// ContextState::profile: runs the kernels of a context one by one and times each.
#include <fmt/format.h>
#include <llvm/ADT/ScopeExit.h>

#include <algorithm>

#include "ir/shape/extent.h"
#include "ir/support/round_up.h"
#include "runtime/device/device_state.h"
#include "runtime/device/stream_capture.h"
#include "runtime/execution/context_state.h"
#include "runtime/execution/variant_report.h"
#include "runtime/logging/counting.h"
#include "runtime/logging/trace.h"
#include "runtime/support/quartiles.h"
#include "sinter/error.h"
#include "sinter/profile.h"

namespace sinter {

namespace {

constexpr std::string_view kProfiling = "profiling";
// The time of larger copies is proportional, and their buffers would take memory from the program.
constexpr std::int64_t kLargestCopy = std::int64_t{1} << 30;
constexpr std::int64_t kScratchAlignment = 256;

/// Values of VariantState::version that no CheckedArguments has: for the copies of a profile, and
/// for invalid contents.
constexpr std::uint64_t kCopiesVersion = ~std::uint64_t{0};
constexpr std::uint64_t kNothingVersion = kCopiesVersion - 1;

void copy_on_device(DeviceState& device, CUdeviceptr to, CUdeviceptr from, std::int64_t bytes,
                    CUstream stream) {
  check(device.driver,
        device.driver.cuMemcpyDtoDAsync(to, from, static_cast<std::size_t>(bytes), stream),
        "cuMemcpyDtoDAsync", kProfiling);
}

/// Copies of the inputs that a run updates, so that each timed run reads the same values.
class UpdatedInputCopies {
 public:
  UpdatedInputCopies(DeviceState& device, const BindingsState& bindings) : device_(device) {
    bound_ = bindings.bound;
    bound_.version = kCopiesVersion;
    const std::vector<Slot>& slots = bindings.executable->interface.slots;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].kind != Slot::Kind::input || !slots[i].is_written) continue;
      const ArrayData& array = bindings.arrays[i]->data();
      if (array.bytes == 0) continue;
      // Keeps the offset from a multiple of 256, since alignment selects the variant.
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

  const CheckedArguments& bound() const { return bound_; }
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
  CheckedArguments bound_;
  std::vector<Copy> copies_;
};

/// A device-to-device copy, the reference for the best achievable bandwidth.
class ReferenceCopy {
 public:
  ReferenceCopy(DeviceState& device, std::int64_t most_bytes) : device_(device) {
    std::size_t free = 0;
    std::size_t total = 0;
    check(device.driver, device.driver.cuMemGetInfo(&free, &total), "cuMemGetInfo", kProfiling);
    const auto room = std::min(kLargestCopy, static_cast<std::int64_t>(free / 4));
    half_ = std::min((most_bytes + 1) / 2, room);
    from_ = std::make_unique<DeviceMemory>(device, half_, "the source of a copy for profiling");
    to_ = std::make_unique<DeviceMemory>(device, half_, "the target of a copy for profiling");
  }

  /// Moves `bytes` in total (half read, half written), or as many as the buffers hold.
  void launch(std::int64_t bytes, CUstream stream) const {
    if (const std::int64_t half = std::min((bytes + 1) / 2, half_); half > 0)
      copy_on_device(device_, to_->pointer, from_->pointer, half, stream);
  }
  /// The number of such copies, possibly fractional, that move `bytes`.
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

/// Times launches with pairs of events, and flushes L2 before each of them.
class EventTimer {
 public:
  EventTimer(DeviceState& device, CUstream stream, std::size_t count)
      : device_(device),
        stream_(stream),
        base_(std::make_unique<EventState>(device, CU_EVENT_DEFAULT, kProfiling)) {
    for (std::size_t i = 0; i < count; ++i)
      pairs_.push_back({.start = std::make_unique<EventState>(device, CU_EVENT_DEFAULT, kProfiling),
                        .end = std::make_unique<EventState>(device, CU_EVENT_DEFAULT, kProfiling)});
    if (!device.is_host)
      flush_ = std::make_unique<DeviceMemory>(device, 2 * device.target.l2_bytes,
                                              "memory that empties L2 before what is profiled");
    record(*base_);
    await(*base_);
    base_time_ = TraceClock::now();
  }

  bool is_cold() const { return flush_ != nullptr; }

  template <std::invocable Launch>
  void time(std::size_t index, Launch launch) {
    const Driver& driver = device_.driver;
    if (flush_)
      check(driver,
            driver.cuMemsetD8Async(flush_->pointer, 0, static_cast<std::size_t>(flush_->bytes),
                                   stream_),
            "cuMemsetD8Async", kProfiling);
    record(*pairs_[index].start);
    launch();
    record(*pairs_[index].end);
    last_ = index;
  }
  void wait() const {
    if (!pairs_.empty()) await(*pairs_[last_].end);
  }

  double microseconds(std::size_t index) const {
    return elapsed(*pairs_[index].start, *pairs_[index].end);
  }
  /// The start of a launch in host time.
  TraceClock::time_point begin(std::size_t index) const {
    return base_time_ + nanoseconds(elapsed(*base_, *pairs_[index].start));
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
  std::unique_ptr<DeviceMemory> flush_;  ///< writing it flushes L2; null on the host device
  std::vector<Pair> pairs_;
  std::size_t last_ = 0;
};

/// All measurements of one kernel.
struct Samples {
  std::vector<double> kernel_us;
  std::vector<double> copy_us;
  std::vector<TraceClock::time_point> begins;  ///< only with a trace
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

/// Adds one trace event per timed launch, with the figures of the kernel's profile.
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
                      samples.begins[i], EventTimer::nanoseconds(microseconds), arguments);
  }
}

}  // namespace

Profile ContextState::profile(const std::shared_ptr<StreamState>& stream,
                              const BindingsState& bindings, int repeats) {
  const ContextLock lock(is_busy_, executable->interface);
  if (repeats < 1)
    fail_binding(executable->interface,
                 fmt::format("profile: repeats is {}; it must be at least 1", repeats));
  check_bindings(bindings);
  check_stream(*stream);
  DeviceState& device = executable->device;
  const CurrentContext current(device);
  check_can_wait("profile " + executable->interface.name, *stream);
  const CaptureModeGuard relaxed(device.driver);
  const TraceSpan span("profile", executable->interface.name);
  VariantState& state = state_for(bindings.bound);
  order_after_last_run(stream);
  register_array_uses_slow_path(stream, bindings.arrays);
  // If a step below throws, the work in flight still uses the memory.
  auto finish_failed = llvm::make_scope_exit([&] { finish_failed_run(state); });
  const UpdatedInputCopies copies(device, bindings);

  const Variant& variant = state.launches.variant();
  Profile result{
      .graph = executable->interface.name,
      .device = device.name,
      .target = executable->target,
      .sizes = size_texts(*variant.program.graph->data().extents, bindings.bound.symbols),
      .repeats = repeats};
  std::int64_t most_bytes = 0;
  for (std::size_t i = 0; i < variant.kernels.size(); ++i) {
    const Kernel& kernel = variant.program.kernels[i];
    const VariantKernel& made = variant.kernels[i];
    result.kernels.push_back(
        empty_profile(kernel.name, kernel_report(variant.program, kernel, made.schedule,
                                                 made.source, bindings.bound.symbols)));
    most_bytes = std::max(most_bytes, result.kernels.back().bytes());
  }
  const ReferenceCopy reference_copy(device, most_bytes);

  // Later runs must fill in their own values, since the state refers to the copies now.
  const auto forget_copies = llvm::make_scope_exit([&] { state.version = kNothingVersion; });
  update_arguments(state, copies.bound(), stream->handle);
  const std::span<PreparedLaunch> launches = state.launches.launches();
  EventTimer timer(device, stream->handle, 2 * launches.size());
  std::vector<Samples> samples(launches.size());
  for (int repeat = 0; repeat <= repeats; ++repeat) {
    copies.restore(stream->handle);
    for (std::size_t i = 0; i < launches.size(); ++i) {
      if (launches[i].is_empty) continue;
      timer.time(2 * i, [&] { launch(state, i); });
      count(Count::kernel_launches);
      timer.time(2 * i + 1,
                 [&] { reference_copy.launch(result.kernels[i].bytes(), stream->handle); });
    }
    timer.wait();
    if (repeat == 0) continue;  // warm-up: loads code and fills the TLBs
    for (std::size_t i = 0; i < launches.size(); ++i) {
      if (launches[i].is_empty) continue;
      samples[i].kernel_us.push_back(timer.microseconds(2 * i));
      samples[i].copy_us.push_back(timer.microseconds(2 * i + 1));
      if (Trace::is_on()) samples[i].begins.push_back(timer.begin(2 * i));
    }
  }
  finish_failed.release();
  finish_run(state);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    summarise_samples(samples[i], reference_copy.repeats(result.kernels[i].bytes()),
                      result.kernels[i]);
    trace(device, samples[i], result.kernels[i]);
  }
  result.is_cold = timer.is_cold();
  result.caches = result.is_cold ? "L2 was flushed before each launch and each copy"
                                 : "caches are as the previous work left them: the host device has "
                                   "no L2 to flush";
  return result;
}

}  // namespace sinter
