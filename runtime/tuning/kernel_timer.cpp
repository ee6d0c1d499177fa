#include "runtime/tuning/kernel_timer.h"

#include "runtime/device/launch_grid.h"

namespace sinter {

namespace {

std::vector<void*> addresses_of(std::vector<std::uint64_t>& values) {
  std::vector<void*> addresses;
  for (std::uint64_t& value : values) addresses.push_back(&value);
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
  std::vector<void*> parameters = addresses_of(values);
  LaunchAttributes attributes = node_attributes(kernel.source);
  CUlaunchConfig config = launch_config(kernel.source, kernel.grid, attributes);
  config.hStream = stream;
  check(device.driver,
        device.driver.cuLaunchKernelEx(&config, kernel.function, parameters.data(),
                                       /*extra=*/nullptr),
        "cuLaunchKernelEx", [&] { return tuning_of(kernel); });
}

std::unique_ptr<RepeatedLaunches> RepeatedLaunches::as_nodes(DeviceState& device,
                                                             const TimedKernel& kernel,
                                                             const ScratchBuffers& buffers,
                                                             int launches) {
  std::unique_ptr<RepeatedLaunches> made(new RepeatedLaunches(device));
  made->add_nodes(kernel, buffers, launches);
  check(device.driver, made->instantiate(), "cuGraphInstantiateWithFlags",
        [&] { return tuning_of(kernel); });
  return made;
}

std::unique_ptr<RepeatedLaunches> RepeatedLaunches::as_stream(DeviceState& device,
                                                              const TimedKernel& kernel,
                                                              const ScratchBuffers& buffers,
                                                              int launches, CUstream stream) {
  std::unique_ptr<RepeatedLaunches> made(new RepeatedLaunches(device));
  const CUresult captured = made->capture(kernel, buffers, launches, stream);
  const CUresult result = captured == CUDA_SUCCESS ? made->instantiate() : captured;
  // Edges for early starts exist since CUDA 12.3.
  if (is_of_captures(result) || result == CUDA_ERROR_NOT_SUPPORTED) return nullptr;
  check(device.driver, result, "capturing launches", [&] { return tuning_of(kernel); });
  return made;
}

void RepeatedLaunches::add_nodes(const TimedKernel& kernel, const ScratchBuffers& buffers,
                                 int launches) {
  const Driver& driver = device_.driver;
  const auto context = [&] { return tuning_of(kernel); };
  check(driver, driver.cuGraphCreate(&graph_, /*flags=*/0), "cuGraphCreate", context);
  LaunchAttributes attributes = node_attributes(kernel.source);
  const CUlaunchConfig config = launch_config(kernel.source, kernel.grid, attributes);
  CUgraphNode last = nullptr;
  for (int i = 0; i < launches; ++i) {
    std::vector<std::uint64_t> values = buffers.arguments(kernel.source, i % buffers.sets());
    std::vector<void*> parameters = addresses_of(values);
    const CUDA_KERNEL_NODE_PARAMS node =
        node_parameters(config, kernel.function, parameters.data());
    const CUgraphNode before = last;
    check(driver, driver.cuGraphAddKernelNode(&last, graph_, &before, i == 0 ? 0 : 1, &node),
          "cuGraphAddKernelNode", context);
    for (const CUlaunchAttribute& attribute : attributes.view())
      check(driver, driver.cuGraphKernelNodeSetAttribute(last, attribute.id, &attribute.value),
            "cuGraphKernelNodeSetAttribute", context);
  }
}

CUresult RepeatedLaunches::capture(const TimedKernel& kernel, const ScratchBuffers& buffers,
                                   int launches, CUstream stream) {
  const Driver& driver = device_.driver;
  LaunchAttributes attributes = stream_attributes(kernel.source, kernel.starts_early);
  CUlaunchConfig config = launch_config(kernel.source, kernel.grid, attributes);
  config.hStream = stream;
  // The arguments may copy tables, and an exception must not leave the stream in a capture. So all
  // of them exist before the capture begins.
  std::vector<std::vector<std::uint64_t>> sets;
  std::vector<std::vector<void*>> parameters;
  for (int set = 0; set < buffers.sets(); ++set)
    sets.push_back(buffers.arguments(kernel.source, set));
  for (std::vector<std::uint64_t>& values : sets) parameters.push_back(addresses_of(values));
  CUresult result = driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  if (result != CUDA_SUCCESS) return result;
  for (int i = 0; i < launches && result == CUDA_SUCCESS; ++i)
    result = driver.cuLaunchKernelEx(&config, kernel.function,
                                     parameters[static_cast<std::size_t>(i) % sets.size()].data(),
                                     /*extra=*/nullptr);
  const CUresult ended = driver.cuStreamEndCapture(stream, &graph_);
  return result == CUDA_SUCCESS ? ended : result;
}

CUresult RepeatedLaunches::instantiate() {
  return device_.driver.cuGraphInstantiateWithFlags(&exec_, graph_, /*flags=*/0);
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
