#include "tests/virtual_gpu/product/lifecycle.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "runtime/compile_service/compile_service.h"
#include "runtime/device/staging.h"
#include "runtime/tuning/tuning_store.h"
#include "sinter/opaque.h"
#include "sinter/profile.h"
#include "tests/virtual_gpu/product/start_early.h"

namespace sinter::virtual_gpu {

namespace {

constexpr std::int64_t kRows = 6;
constexpr std::int64_t kColumns = 40;
constexpr int kLists = 129;                    ///< more than a table that is a parameter holds
constexpr std::int64_t kListPitch = 160;       ///< elements between the starts of two arrays
constexpr std::int64_t kManyBytes = 96 << 10;  ///< a copy of so many bytes is staged

constexpr const char* kCall = "lifecycle_copy";

/// Three kernels, one of which needs tickets; a counter that is updated.
constexpr const char* kPrograms = R"(
graph programs(x: f32[rows, 40], steps: f32[1]) {
  s = softmax x {axis = 1}
  total = sum s
  twice = mul s, 2.0
  columns = sum twice {axes = [0]}
  next = add steps, 1.0
  update steps, next
  return total, columns
})";

/// A cooperative kernel: two phases with a barrier of the grid between them.
constexpr const char* kPhases = R"(
graph phases(x: f32[700, 64]) {
  a = sum x {axes = [1], keep = true}
  b = exp a
  s = sum b {axes = [0]}
  c = div b, s
  y = mul x, c
  return y
})";

/// Rows that need the shared memory of several blocks, in clusters.
constexpr const char* kClusters = R"(
graph clusters(x: f32[1, 70000]) {
  y = softmax x {axis = 1}
  return y
})";

constexpr const char* kCalls = R"(
graph calls(x: f32[n]) {
  y = opaque lifecycle_copy x : f32[n]
  z = add y, 1.0
  return y, z
})";

/// Many arrays of one structure, whose addresses are in a table in device memory.
std::string lists_text() {
  std::string inputs, body, outputs;
  for (int i = 0; i < kLists; ++i) {
    inputs += fmt::format("{}x{}: f32[{}]", i ? ", " : "", i, 10 + i);
    body += fmt::format("  y{0} = mul x{0}, 2.5\n", i);
    outputs += fmt::format("{}y{}", i ? ", " : "", i);
  }
  return fmt::format("graph lists({}) {{\n{}  return {}\n}}\n", inputs, body, outputs);
}

Array filled(const Device& device, const Stream& stream, std::vector<std::int64_t> shape,
             float value) {
  const Array array = device.empty(f32, shape);
  device.upload(array, std::vector<float>(static_cast<std::size_t>(array.elements()), value),
                stream);
  return array;
}

/// A captured CUDA Graph of the user, whose handles are destroyed in any case.
class Captured {
 public:
  Captured(const Device& device, const Stream& stream, std::invocable auto record)
      : state_(*device.state()), current_(state_) {
    const Driver& driver = state_.driver;
    const auto handle = static_cast<CUstream>(stream.handle());
    check(driver, driver.cuStreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_GLOBAL),
          "cuStreamBeginCapture", "a test");
    try {
      record();
    } catch (...) {
      driver.cuStreamEndCapture(handle, &graph_);
      destroy();
      throw;
    }
    const CUresult ended = driver.cuStreamEndCapture(handle, &graph_);
    const CUresult made =
        ended == CUDA_SUCCESS ? driver.cuGraphInstantiateWithFlags(&exec_, graph_, 0) : ended;
    if (made == CUDA_SUCCESS) return;
    // A user ends the capture again if the call did not end it.
    if (ended != CUDA_SUCCESS) driver.cuStreamEndCapture(handle, &graph_);
    destroy();
    check(driver, ended, "cuStreamEndCapture", "a test");
    check(driver, made, "cuGraphInstantiateWithFlags", "a test");
  }
  ~Captured() { destroy(); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  void launch(const Stream& stream) const {
    check(state_.driver, state_.driver.cuGraphLaunch(exec_, static_cast<CUstream>(stream.handle())),
          "cuGraphLaunch", "a test");
  }

 private:
  void destroy() {
    if (exec_) state_.driver.cuGraphExecDestroy(exec_);
    if (graph_) state_.driver.cuGraphDestroy(graph_);
  }

  const DeviceState& state_;
  const CurrentContext current_;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
};

/// A kernel without work, as libraries have them.
constexpr const char* kNothing = R"(
.version 6.0
.target sm_70
.address_size 64
.visible .entry nothing() { ret; }
)";

/// The loaded kernel of a library.
class LibraryKernel {
 public:
  explicit LibraryKernel(const Device& device) : state_(*device.state()), current_(state_) {
    const Driver& driver = state_.driver;
    check(driver, driver.cuModuleLoadData(&module_, kNothing), "cuModuleLoadData", "a library");
    const CUresult found = driver.cuModuleGetFunction(&function_, module_, "nothing");
    if (found == CUDA_SUCCESS) return;
    driver.cuModuleUnload(module_);
    check(driver, found, "cuModuleGetFunction", "a library");
  }
  ~LibraryKernel() { state_.driver.cuModuleUnload(module_); }
  LibraryKernel(const LibraryKernel&) = delete;
  LibraryKernel& operator=(const LibraryKernel&) = delete;

  void launch(CUstream stream) const {
    const CUlaunchConfig config{.gridDimX = 1,
                                .gridDimY = 1,
                                .gridDimZ = 1,
                                .blockDimX = 1,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .sharedMemBytes = 0,
                                .hStream = stream,
                                .attrs = nullptr,
                                .numAttrs = 0};
    check(state_.driver, state_.driver.cuLaunchKernelEx(&config, function_, nullptr, nullptr),
          "cuLaunchKernelEx", "a library");
  }

 private:
  const DeviceState& state_;
  const CurrentContext current_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

/// A copy, a kernel and work of the host, as a library puts them on the stream.
int enqueue_copy(const Driver& driver, const LibraryKernel& kernel, const OpaqueCall& call) {
  const auto stream = static_cast<CUstream>(call.stream);
  check(driver,
        driver.cuMemcpyDtoDAsync(
            reinterpret_cast<CUdeviceptr>(call.outputs[0].data),
            reinterpret_cast<CUdeviceptr>(call.inputs[0].data),
            static_cast<std::size_t>(call.outputs[0].elements()) * sizeof(float), stream),
        "cuMemcpyDtoDAsync", "a library");
  kernel.launch(stream);
  call.on_host([] {});
  return 0;
}

void append(std::vector<float>& all, const std::vector<float>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

Lifecycle::Lifecycle(std::string folder) : folder_(std::move(folder)) {
  // Tests run without the cache (tests/support/run/run.h), but these programs run very often.
  setenv("SINTER_CACHE", "read_write", /*overwrite=*/1);
}
Lifecycle::~Lifecycle() { unregister_opaque(kCall); }

Options Lifecycle::options() const {
  return {.tune = Tune::off, .cache = {.directory = folder_ + "/cache"}, .ptx = true};
}

Options Lifecycle::options_without_phases() const {
  Options result = options();
  result.skip = {"fuse_launches"};
  return result;
}

void Lifecycle::save(const Executable& executable) const {
  if (!std::filesystem::exists(file())) executable.save(file());
}

std::vector<float> Lifecycle::run(const TwoGpus& gpus) const {
  for (const Device& device : {gpus.first(), gpus.second()}) {
    DeviceState& state = *device.state();
    // As if the process had just started, so that each run loads its kernels.
    state.compile_service.replace(std::make_shared<CompileService>(state));
    state.staging->set_limits({.buffer_bytes = kManyBytes / 2, .buffers = 2});
  }
  std::vector<float> all;
  append(all, run_programs(gpus.first()));
  append(all, run_programs(gpus.second()));
  append(all, run_lists(gpus.first()));
  append(all, run_phases(gpus.first()));
  append(all, run_clusters(gpus.first()));
  append(all, run_calls(gpus.first()));
  append(all, run_captured(gpus.first()));
  append(all, copy_and_time(gpus.first()));
  gpus.first().synchronize();
  gpus.first().trim();
  return all;
}

/// Runs on two streams, one of them wrapped; replays with other arrays, and without elements.
/// Kernels start early, also in replays.
std::vector<float> Lifecycle::run_programs(const Device& device) const {
  const Executable executable = compile(parse(kPrograms), device, options_without_phases());
  executable.prepare({{"rows", kRows}});
  start_early(executable);
  Context context = executable.context();
  const Stream stream = device.stream();
  const Stream wrapped = Stream::wrap(stream.handle(), device);
  const Array x = filled(device, stream, {kRows, kColumns}, 0.5F);
  const Array more = filled(device, stream, {kRows, kColumns}, 1.5F);
  const Array none = device.empty(f32, {0, kColumns});
  const Array steps = filled(device, stream, {1}, 0);
  const Outputs outputs = context.run(stream, {{"x", x}, {"steps", steps}});
  const Array total = device.empty(f32, {});
  const Array columns = device.empty(f32, {kColumns});
  const auto replay = [&](const Stream& on, const Array& from) {
    context.replay(on, {{"x", from}, {"steps", steps}}, {{"total", total}, {"columns", columns}});
  };
  std::vector<float> all;
  replay(stream, x);
  replay(wrapped, more);
  append(all, device.download<float>(columns, stream));
  replay(stream, none);
  context.run(wrapped, {{"x", more}, {"steps", steps}}, {{"total", total}, {"columns", columns}});
  for (const Array& array : {outputs["total"], outputs["columns"], total, columns, steps})
    append(all, device.download<float>(array, stream));
  save(executable);
  Context loaded = load(file(), device, {.options = options()}).context();
  loaded.run(stream, {{"x", x}, {"steps", steps}}, {{"total", total}, {"columns", columns}});
  append(all, device.download<float>(total, stream));
  return all;
}

std::vector<float> Lifecycle::run_lists(const Device& device) const {
  const Executable executable = compile(parse(lists_text()), device, options());
  Context context = executable.context();
  const Stream stream = device.stream();
  std::vector<std::string> names;
  std::vector<Array> arrays;
  const Array all_inputs = filled(device, stream, {kLists * kListPitch}, 3);
  const Array all_outputs = filled(device, stream, {kLists * kListPitch}, 0);
  for (int i = 0; i < 2 * kLists; ++i) {
    const bool is_input = i < kLists;
    const int number = i % kLists;
    names.push_back(fmt::format("{}{}", is_input ? 'x' : 'y', number));
    arrays.push_back(
        (is_input ? all_inputs : all_outputs).view(4 * kListPitch * number, f32, {10 + number}));
  }
  std::vector<Binding> inputs, outputs;
  for (std::size_t i = 0; i < kLists; ++i) {
    inputs.emplace_back(names[i], arrays[i]);
    outputs.emplace_back(names[i + kLists], arrays[i + kLists]);
  }
  context.run(stream, inputs, outputs);
  const Array other = filled(device, stream, {10}, 7);
  inputs[0] = Binding(names[0], other);
  context.replay(stream, inputs, outputs);
  return device.download<float>(all_outputs, stream);
}

/// Runs on memory of the caller, which the product asks the driver about. Times the kernels.
std::vector<float> Lifecycle::run_phases(const Device& device) const {
  const Executable executable = compile(parse(kPhases), device, options());
  Context context = executable.context();
  const Stream stream = device.stream();
  const std::vector<std::int64_t> shape = {700, 64};
  const Array owner = filled(device, stream, shape, 0.25F);
  const Array x = Array::wrap(owner.pointer(), f32, shape, device);
  const Array y = device.empty(f32, shape);
  context.run(stream, {{"x", x}}, {{"y", y}});
  context.replay(stream, {{"x", x}}, {{"y", y}});
  std::vector<float> all = device.download<float>(y, stream);
  const Profile times = profile(context, {{"x", x}}, {{"y", y}}, {.repeats = 1});
  append(all, device.download<float>(y, stream));
  all.push_back(static_cast<float>(times.repeats));
  return all;
}

std::vector<float> Lifecycle::run_clusters(const Device& device) const {
  const Executable executable = compile(parse(kClusters), device, options());
  Context context = executable.context();
  const Stream stream = device.stream();
  const Array x = filled(device, stream, {1, 70000}, 0.5F);
  const Array y = device.empty(f32, {1, 70000});
  context.run(stream, {{"x", x}}, {{"y", y}});
  context.replay(stream, {{"x", x}}, {{"y", y}});
  std::vector<float> all = device.download<float>(y, stream);
  all.resize(10);
  return all;
}

std::vector<float> Lifecycle::run_calls(const Device& device) const {
  unregister_opaque(kCall);
  const LibraryKernel kernel(device);
  register_opaque(kCall, {.enqueue = [&](const OpaqueCall& call) {
                    return enqueue_copy(device.state()->driver, kernel, call);
                  }});
  const Executable executable = compile(parse(kCalls), device, options());
  Context context = executable.context();
  const Stream stream = device.stream();
  std::vector<float> all;
  const auto run = [&](std::int64_t size, float value, bool as_graph) {
    const Array x = filled(device, stream, {size}, value);
    const Array y = device.empty(f32, {size});
    const Array z = device.empty(f32, {size});
    if (as_graph)
      context.replay(stream, {{"x", x}}, {{"y", y}, {"z", z}});
    else
      context.run(stream, {{"x", x}}, {{"y", y}, {"z", z}});
    append(all, device.download<float>(z, stream));
    append(all, device.download<float>(y, stream));
  };
  run(50, 3, /*as_graph=*/false);
  run(50, 4, /*as_graph=*/true);
  run(50, 5, /*as_graph=*/true);
  run(0, 6, /*as_graph=*/true);
  return all;
}

std::vector<float> Lifecycle::run_captured(const Device& device) const {
  const Stream stream = device.stream();
  const Array x = filled(device, stream, {2, kColumns}, 0.5F);
  const Array steps = filled(device, stream, {1}, 0);
  const Array total = device.empty(f32, {});
  const Array columns = device.empty(f32, {kColumns});
  const Array copy = device.empty(f32, {kColumns});
  stream.synchronize();
  Executable executable = compile(parse(kPrograms), device, options_without_phases());
  Context context = executable.context();
  const Captured graph(device, stream, [&] {
    context.run(stream, {{"x", x}, {"steps", steps}}, {{"total", total}, {"columns", columns}});
    device.copy(columns, copy, stream);
  });
  graph.launch(stream);
  graph.launch(stream);
  std::vector<float> all = device.download<float>(copy, stream);
  append(all, device.download<float>(steps, stream));
  return all;
}

/// Copies through staged and pinned memory, and between streams.
std::vector<float> Lifecycle::copy_and_time(const Device& device) const {
  const Stream stream = device.stream();
  const Stream other = device.stream();
  const Event start = device.event();
  const Event end = device.event();
  const std::int64_t count = kManyBytes / 4;
  start.record(stream);
  const Array many = filled(device, stream, {count}, 9);
  const Array copy = device.empty(f32, {count});
  device.copy(many, copy, stream);
  end.record(stream);
  other.wait(end);
  PinnedArray pinned = device.pinned(f32, {count});
  device.download(copy, pinned, other);
  other.synchronize();
  end.synchronize();
  (void)end.is_done();
  (void)end.elapsed_since(start);
  std::vector<float> all = device.download<float>(copy, other);
  all.resize(10);
  all.push_back(pinned.elements_as<float>()[static_cast<std::size_t>(count) - 1]);
  return all;
}

}  // namespace sinter::virtual_gpu
