// Which variant serves a run, and the work of the background on better ones.
#include "runtime/execution/executable_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/program/guards.h"
#include "runtime/driver/capture_mode_guard.h"
#include "runtime/execution/make_variant.h"
#include "runtime/logging/debug_log.h"
#include "runtime/support/background_thread.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// A limit on the memory of kernels that few runs may use again.
constexpr std::size_t kMostSpecialized = 16;

}  // namespace

VariantNeed need_of(const CheckedArguments& bound) {
  return {.symbols = bound.symbols,
          .alignment = bound.alignment,
          .unwritten_outputs = bound.unwritten_outputs};
}

std::shared_ptr<const Variant> ExecutableState::find(const VariantNeed& need) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Variant> found;
  for (const std::shared_ptr<const Variant>& one : variants_) {
    if (!serves(*one, need)) continue;
    if (one->is_specialized) return one;
    if (!found) found = one;
  }
  return found;
}

std::string ExecutableState::why_none(const VariantNeed& need) const {
  std::string reason = "the first";
  const std::vector<std::shared_ptr<const Variant>> all = variants();
  for (const std::shared_ptr<const Variant>& variant : all) {
    if (variant->is_specialized) continue;
    const bool is_as_aligned = variant->alignment == need.alignment;
    if (is_as_aligned && variant->unwritten_outputs == need.unwritten_outputs)
      reason = broken_guard(variant->program, need.symbols);
    else if (all.size() == 1 || reason == "the first")
      reason = is_as_aligned ? "a different set of view outputs is written"
                             : fmt::format("a pointer is a multiple of {} bytes, not of {}",
                                           need.alignment, variant->alignment);
  }
  return reason;
}

std::shared_ptr<const Variant> ExecutableState::variant_for(const VariantNeed& need) {
  check_sizes(need.symbols);
  if (std::shared_ptr<const Variant> known = find(need)) return known;
  const CaptureModeGuard relaxed(device.driver);
  const std::lock_guard lock(make_mutex_);
  if (std::shared_ptr<const Variant> known = find(need)) return known;  // made meanwhile
  VariantRequest request{.symbols = {need.symbols.begin(), need.symbols.end()},
                         .alignment = need.alignment,
                         .unwritten_outputs = need.unwritten_outputs,
                         .reason = why_none(need),
                         .wants_default_schedules = options.never_stall};
  std::shared_ptr<const Variant> made = find_provisional(need, request);
  if (!made) made = make_variant(request);
  add(made);
  if (made->is_provisional) {
    request.wants_default_schedules = false;
    improve_in_background(made, std::move(request));
  }
  return made;
}

std::shared_ptr<const Variant> ExecutableState::find_provisional(
    const VariantNeed& need, const VariantRequest& request) const {
  if (!options.never_stall || !source) return nullptr;
  const std::shared_ptr<Variant> found = with_lower_alignment(variants(), need);
  if (!found) return nullptr;
  found->is_provisional = found->report.is_provisional = true;
  found->report.reason = request.reason;
  found->report.plan_ms = found->report.compile_ms = found->report.tune_ms = 0;
  for (KernelReport& kernel : found->report.kernels)
    if (kernel.tuning != kCallTuning)
      kernel.tuning = "as for less aligned pointers, until the kernel for these pointers is ready";
  return found;
}

void ExecutableState::specialize(const std::shared_ptr<const Variant>& variant,
                                 const VariantNeed& need) {
  if (variant->is_specialized) return;
  std::vector<std::int64_t> symbols(need.symbols.begin(), need.symbols.end());
  {
    const std::lock_guard lock(mutex_);
    if (specialized_sizes_.size() == kMostSpecialized) return;
    if (!specialized_sizes_.insert(symbols).second) return;
  }
  improve_in_background(
      variant, {.symbols = std::move(symbols),
                .alignment = need.alignment,
                .unwritten_outputs = need.unwritten_outputs,
                .reason = fmt::format("{} runs of a Context had these sizes", options.specialize),
                .is_specialized = true});
}

void ExecutableState::improve_in_background(std::shared_ptr<const Variant> current,
                                            VariantRequest request) {
  request.is_in_background = true;
  const Variant* const which = current.get();
  const bool specializes = request.is_specialized;
  try {
    request.cancellation = {
        .stop_token = BackgroundThread::process_wide().stop_token(),
        // A count of 1 is the background's own reference while it makes the variant.
        .is_abandoned = [self = weak_from_this()] { return self.use_count() <= 1; }};
    BackgroundThread::process_wide().add(
        [self = weak_from_this(), current = std::move(current), request = std::move(request)] {
          // If no handle is left, the program cannot run again.
          if (const std::shared_ptr<ExecutableState> executable = self.lock())
            executable->improve(current, request);
        });
  } catch (const std::exception& error) {
    record_background_problem(which, specializes, error.what());
  }
}

void ExecutableState::improve(const std::shared_ptr<const Variant>& current,
                              const VariantRequest& request) {
  try {
    const CaptureModeGuard relaxed(device.driver);  // the caller may capture on another thread
    const std::shared_ptr<const Variant> better = make_variant(request);
    {
      const std::lock_guard lock(mutex_);
      if (request.is_specialized)
        variants_.push_back(better);
      else
        std::ranges::replace(variants_, current, better);
    }
    generation_.fetch_add(1, std::memory_order_release);
  } catch (const Cancelled&) {  // no handle is left that could report it
  } catch (const std::exception& error) {
    record_background_problem(current.get(), request.is_specialized, error.what());
  } catch (...) {
    record_background_problem(current.get(), request.is_specialized,
                              "an exception that is not a std::exception was thrown");
  }
}

void ExecutableState::record_background_problem(const Variant* current, bool specializes,
                                                std::string_view problem) noexcept {
  try {
    {
      const std::lock_guard lock(mutex_);
      background_problems_[current] = problem;
    }
    log_line(options, LogLevel::notes, [&] {
      return fmt::format("{}: the {}, because {} in the background failed: {}", interface.name,
                         specializes ? "kernels of the size class stay" : "default schedules stay",
                         specializes ? "specializing them" : "tuning", problem);
    });
  } catch (...) {  // out of memory, or the log failed: the problem cannot be reported
  }
}

std::string ExecutableState::background_problem(const Variant* variant) const {
  const std::lock_guard lock(mutex_);
  const auto found = background_problems_.find(variant);
  return found == background_problems_.end() ? std::string() : found->second;
}

std::vector<std::shared_ptr<const Variant>> ExecutableState::variants() const {
  const std::lock_guard lock(mutex_);
  return variants_;
}

void ExecutableState::add(std::shared_ptr<const Variant> variant) {
  const std::lock_guard lock(mutex_);
  variants_.push_back(std::move(variant));
}

}  // namespace sinter
