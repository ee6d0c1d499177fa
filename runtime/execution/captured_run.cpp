// A run that becomes part of a CUDA Graph of the caller's: a node of it, with memory of its own
// that lives for as long as that graph, or what is made from it, can be launched.
#include <fmt/format.h>

#include "runtime/device/stream_capture.h"
#include "runtime/driver/deferred_release.h"
#include "runtime/execution/context_state.h"
#include "runtime/logging/debug_log.h"
#include "runtime/logging/trace.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// All that the nodes of one captured run refer to. Nothing of it is shared with other runs, since
/// the caller's graph may launch them side by side.
struct CapturedRun : DeferredRelease {
  CapturedRun(std::shared_ptr<const Variant> variant, const ExecutableState& executable,
              std::shared_ptr<HostWorks> works, std::vector<Array> arrays)
      : DeferredRelease(executable.device.driver),
        works(std::move(works)),
        arrays(std::move(arrays)),
        launches(std::move(variant), executable.interface),
        graph(executable.device) {}

  const std::shared_ptr<HostWorks> works;
  const std::vector<Array> arrays;
  std::unique_ptr<DeviceMemory> arena;
  std::unique_ptr<DeviceMemory> tickets;
  std::unique_ptr<DeviceMemory> tables;
  LaunchSet launches;
  ReplayGraph graph;
};

/// Memory for a captured run of `name`; null for no bytes.
std::unique_ptr<DeviceMemory> reserve(DeviceState& device, std::int64_t bytes,
                                      std::string_view part, std::string_view name) {
  if (bytes == 0) return nullptr;
  return std::make_unique<DeviceMemory>(device, bytes,
                                        fmt::format("{} of a captured run of {}", part, name));
}

/// Fills in what is bound, and memory of the run's own, now: on no stream that is captured.
void equip(CapturedRun& run, const Bound& bound, DeviceState& device, std::string_view name) {
  LaunchSet& launches = run.launches;
  launches.set_symbols(bound.symbols);
  const ScratchLayout& layout = launches.layout();
  run.arena = reserve(device, layout.arena_bytes, "the arena", name);
  run.tickets = reserve(device, layout.tickets * static_cast<std::int64_t>(sizeof(unsigned)),
                        "the tickets", name);
  run.tables = reserve(device, layout.table_bytes, "the tables", name);
  const auto pointer = [](const std::unique_ptr<DeviceMemory>& memory) {
    return memory ? memory->pointer : 0;
  };
  launches.set_scratch(pointer(run.arena), pointer(run.tickets), pointer(run.tables));
  launches.set_values(bound.values);
  if (!run.tickets && !run.tables) return;

  const Driver& driver = device.driver;
  const auto context = [&] { return fmt::format("a captured run of {}", name); };
  const Stream own = Device(&device).stream();
  const CUstream stream = own.state()->handle;
  if (run.tickets)
    check(driver,
          driver.cuMemsetD32Async(run.tickets->pointer, 0, static_cast<std::size_t>(layout.tickets),
                                  stream),
          "cuMemsetD32Async", context);
  for (const PreparedLaunch& launch : launches.launches())
    if (!launch.table.empty())
      check(driver,
            driver.cuMemcpyHtoDAsync(launch.table_at, launch.table.data(),
                                     launch.table.size_bytes(), stream),
            "cuMemcpyHtoDAsync", context);
  check(driver, driver.cuStreamSynchronize(stream), "cuStreamSynchronize", context);
}

}  // namespace

void ContextState::capture(const StreamState& stream, const Bound& bound,
                           std::vector<Array> arrays) {
  const std::string& name = executable->interface.name;
  const TraceSpan span("launch", [&] { return fmt::format("capture {}", name); });
  const CaptureModeGuard relaxed(executable->device.driver);
  run_deferred_releases();
  host_works->throw_if_failed();
  executable->check_sizes(bound.symbols);
  std::shared_ptr<const Variant> variant = executable->variant_for(
      {.symbols = bound.symbols, .alignment = bound.alignment, .unwritten_outputs = bound.unwritten_outputs});
  auto run =
      std::make_unique<CapturedRun>(std::move(variant), *executable, host_works, std::move(arrays));
  equip(*run, bound, executable->device, name);
  const CUgraph nodes = run->graph.draw(run->launches, *host_works);
  if (!nodes) return;
  const std::size_t launches = run->launches.launches().size();
  {
    const std::string what = fmt::format("a captured run of {}", name);
    // Recording calls of the user's may have spoiled the capture.
    CapturedGraph graph(what, stream);
    graph.keep(std::move(run));
    graph.append(nodes);
  }
  log_line(executable->options, LogLevel::launches, [&] {
    return fmt::format("capture {}: {} kernels as one node of the graph that is captured", name,
                       launches);
  });
}

}  // namespace sinter
