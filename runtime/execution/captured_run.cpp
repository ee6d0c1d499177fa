// A run on a stream that the caller captures: it becomes one node of the captured CUDA Graph. Its
// memory lives as long as that graph, or an executable graph made from it, can be launched.
#include <fmt/format.h>

#include "runtime/device/stream_capture.h"
#include "runtime/driver/deferred_release.h"
#include "runtime/execution/context_state.h"
#include "runtime/logging/debug_log.h"
#include "runtime/logging/trace.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// Everything that the nodes of one captured run refer to. Captured runs share none of it, because
/// the caller's graph may launch them concurrently.
struct CapturedRun : DeferredRelease {
  CapturedRun(std::shared_ptr<const Variant> variant, const ExecutableState& executable,
              GroupCommunicators communicators, std::shared_ptr<HostFunctions> host_functions,
              std::vector<Array> arrays)
      : DeferredRelease(executable.device.driver),
        communicators(std::move(communicators)),
        host_functions(std::move(host_functions)),
        arrays(std::move(arrays)),
        state(std::move(variant), executable, this->communicators, *this->host_functions) {}

  const GroupCommunicators communicators;
  const std::shared_ptr<HostFunctions> host_functions;
  const std::vector<Array> arrays;
  std::unique_ptr<DeviceMemory> arena;
  std::unique_ptr<DeviceMemory> tickets;
  VariantState state;
};

/// Allocates memory for a captured run of `name`; null for 0 bytes.
std::unique_ptr<DeviceMemory> reserve(DeviceState& device, std::int64_t bytes,
                                      std::string_view part, std::string_view name) {
  if (bytes == 0) return nullptr;
  return std::make_unique<DeviceMemory>(device, bytes,
                                        fmt::format("{} of a captured run of {}", part, name));
}

/// Fills in the bound values and allocates the memory of the run. Clears tickets and copies tables
/// on a stream of its own that is not captured, and waits for that.
void prepare_captured_run(CapturedRun& run, const CheckedArguments& bound, DeviceState& device,
                          std::string_view name) {
  LaunchSet& launches = run.state.launches;
  launches.set_symbols(bound.symbols);
  const ScratchLayout& layout = launches.layout();
  run.arena = reserve(device, layout.arena_bytes, "the arena", name);
  run.tickets = reserve(device, layout.tickets * static_cast<std::int64_t>(sizeof(unsigned)),
                        "the tickets", name);
  run.state.tables = reserve(device, layout.table_bytes, "the tables", name);
  run.state.set_scratch(run.arena.get(), run.tickets.get());
  launches.set_values(bound.values);
  if (!run.tickets && !run.state.tables) return;

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

void ContextState::capture(const StreamState& stream, const CheckedArguments& bound,
                           std::vector<Array> arrays) {
  const std::string& name = executable->interface.name;
  const TraceSpan span("launch", [&] { return fmt::format("capture {}", name); });
  const CaptureModeGuard relaxed(executable->device.driver);
  run_deferred_releases();
  host_functions->throw_if_failed();
  std::shared_ptr<const Variant> variant = executable->variant_for(need_of(bound));
  auto run = std::make_unique<CapturedRun>(std::move(variant), *executable, communicators,
                                           host_functions, std::move(arrays));
  prepare_captured_run(*run, bound, executable->device, name);
  const CUgraph nodes = run->state.graph.build_child_graph();
  if (!nodes) return;
  const std::size_t launches = run->state.launches.launches().size();
  {
    const std::string what = fmt::format("a captured run of {}", name);
    // Recording the user's calls may have invalidated the capture.
    CapturedGraph graph(what, stream);
    graph.keep(std::move(run));
    graph.append(nodes);
  }
  log_line(executable->options, LogLevel::launches, [&] {
    return fmt::format("capture {}: {} kernels as one node of the captured graph", name, launches);
  });
}

}  // namespace sinter
