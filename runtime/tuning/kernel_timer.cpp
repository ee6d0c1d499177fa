#include "runtime/tuning/kernel_timer.h"

#include "runtime/device/launch_grid.h"

namespace sinter {

namespace {

/// The address of each argument's value. `values` are the result of ScratchBuffers::arguments.
std::vector<void*> addresses_of(const Source& source, std::vector<std::uint64_t>& values) {
  const std::size_t count = source.arguments.size();
  std::vector<void*> addresses;
  for (std::size_t i = 0; i < count; ++i)
    addresses.push_back(
        &values[source.arguments[i].kind == Argument::Kind::table_values ? count : i]);
  return addresses;
}

constexpr std::string_view kTiming = "timing of candidates";

std::string tuning_of(const TimedKernel& kernel) {
  return "tuning of kernel " + kernel.source.entry;
}

}  // namespace

TimedKernel timed_kernel(const DeviceState& device, const TuneRequest& request,
                         std::size_t candidate) {
  const Source& source = request.sources[candidate];
  const CUfunction function = request.unit.functions[candidate].handle;
  const std::int64_t limit = cooperative_grid_limit(device, source, function);
  return {.source = source,
          .function = function,
          .grid = grid_size(source, limit, request.symbols),
          .starts_early = request.unit.functions[candidate].starts_early};
}

void launch_once(DeviceState& device, const TimedKernel& kernel, const ScratchBuffers& buffers,
                 CUstream stream) {
  std::vector<std::uint64_t> values = buffers.arguments(kernel.source, /*set=*/0);
  std::vector<void*> parameters = addresses_of(kernel.source, values);
  LaunchAttributes attributes = node_attributes(kernel.source);
  CUlaunchConfig config = launch_config(kernel.source, kernel.grid, attributes);
  config.hStream = stream;
  check(device.driver,
        device.driver.cuLaunchKernelEx(&config, kernel.function, parameters.data(),
                                       /*extra=*/nullptr),
        "cuLaunchKernelEx", [&] { return tuning_of(kernel); });
}

std::unique_ptr<RepeatedLaunches> RepeatedLaunches::in_turn(DeviceState& device,
                                                            const TimedKernel& kernel,
                                                            const ScratchBuffers& buffers,
                                                            int launches) {
  std::unique_ptr<RepeatedLaunches> made(new RepeatedLaunches(device));
  made->add_nodes(kernel, buffers, launches, Edges::full);
  made->instantiate(kernel);
  return made;
}

std::unique_ptr<RepeatedLaunches> RepeatedLaunches::early(DeviceState& device,
                                                          const TimedKernel& kernel,
                                                          const ScratchBuffers& buffers,
                                                          int launches) {
  if (!device.driver.cuGraphAddDependencies) return nullptr;
  std::unique_ptr<RepeatedLaunches> made(new RepeatedLaunches(device));
  const std::vector<CUgraphNode> nodes = made->add_nodes(kernel, buffers, launches, Edges::none);
  const std::span all(nodes);
  const CUresult result =
      add_early_edges(device.driver, made->graph_, all.first(nodes.size() - 1), all.subspan(1));
  if (result == CUDA_ERROR_NOT_SUPPORTED) return nullptr;
  check(device.driver, result, "cuGraphAddDependencies", [&] { return tuning_of(kernel); });
  made->instantiate(kernel);
  return made;
}

std::vector<CUgraphNode> RepeatedLaunches::add_nodes(const TimedKernel& kernel,
                                                     const ScratchBuffers& buffers, int launches,
                                                     Edges edges) {
  const Driver& driver = device_.driver;
  const auto context = [&] { return tuning_of(kernel); };
  check(driver, driver.cuGraphCreate(&graph_, /*flags=*/0), "cuGraphCreate", context);
  LaunchAttributes attributes = node_attributes(kernel.source);
  const CUlaunchConfig config = launch_config(kernel.source, kernel.grid, attributes);
  std::vector<CUgraphNode> nodes;
  for (int i = 0; i < launches; ++i) {
    std::vector<std::uint64_t> values = buffers.arguments(kernel.source, i % buffers.sets());
    std::vector<void*> parameters = addresses_of(kernel.source, values);
    const CUDA_KERNEL_NODE_PARAMS parameters_of_node =
        node_parameters(config, kernel.function, parameters.data());
    const bool has_edge = edges == Edges::full && i > 0;
    CUgraphNode node = nullptr;
    check(driver,
          driver.cuGraphAddKernelNode(&node, graph_, has_edge ? &nodes.back() : nullptr,
                                      has_edge ? 1 : 0, &parameters_of_node),
          "cuGraphAddKernelNode", context);
    nodes.push_back(node);
    for (const CUlaunchAttribute& attribute : attributes.view())
      check(driver, driver.cuGraphKernelNodeSetAttribute(node, attribute.id, &attribute.value),
            "cuGraphKernelNodeSetAttribute", context);
  }
  return nodes;
}

void RepeatedLaunches::instantiate(const TimedKernel& kernel) {
  check(device_.driver, device_.driver.cuGraphInstantiateWithFlags(&exec_, graph_, /*flags=*/0),
        "cuGraphInstantiateWithFlags", [&] { return tuning_of(kernel); });
}

RepeatedLaunches::~RepeatedLaunches() {
  const CurrentContextNoThrow current(device_);
  const Driver& driver = device_.driver;
  if (exec_) log_failed_release(driver, driver.cuGraphExecDestroy(exec_), "cuGraphExecDestroy");
  if (graph_) log_failed_release(driver, driver.cuGraphDestroy(graph_), "cuGraphDestroy");
}

KernelTimer::KernelTimer(DeviceState& device, CUstream stream, int launches)
    : device_(device),
      stream_(stream),
      launches_(launches),
      start_(std::make_unique<EventState>(device, CU_EVENT_DEFAULT, kTiming)),
      end_(std::make_unique<EventState>(device, CU_EVENT_DEFAULT, kTiming)) {
  if (!device.is_host)
    flush_ = std::make_unique<DeviceMemory>(device, 2 * device.target.l2_bytes,
                                            "memory that flushes L2 for tuning");
}

double KernelTimer::measure(const RepeatedLaunches& repeated) {
  const Driver& driver = device_.driver;
  if (flush_)
    check(driver,
          driver.cuMemsetD8Async(flush_->pointer, 0, static_cast<std::size_t>(flush_->bytes),
                                 stream_),
          "cuMemsetD8Async", kTiming);
  check(driver, driver.cuEventRecord(start_->handle, stream_), "cuEventRecord", kTiming);
  check(driver, driver.cuGraphLaunch(repeated.exec(), stream_), "cuGraphLaunch", kTiming);
  check(driver, driver.cuEventRecord(end_->handle, stream_), "cuEventRecord", kTiming);
  check(driver, driver.cuEventSynchronize(end_->handle), "cuEventSynchronize", kTiming);
  float milliseconds = 0;
  check(driver, driver.cuEventElapsedTime(&milliseconds, start_->handle, end_->handle),
        "cuEventElapsedTime", kTiming);
  return 1e3 * static_cast<double>(milliseconds) / launches_;
}

}  // namespace sinter
