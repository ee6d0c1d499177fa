#include "tools/sinter/commands/run_graph.h"

#include "ir/graph/node.h"
#include "runtime/driver/host/host_driver.h"
#include "runtime/execution/executable_state.h"
#include "runtime/support/json_tree.h"
#include "tools/sinter/output/format_numbers.h"

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::command {

namespace {

/// The arrays that a graph reads and writes, on the device. Inputs without contents are weights of
/// the executable.
class GraphArrays {
 public:
  GraphArrays(const GraphData& graph, const HostArrays& inputs, const RunRequest& request)
      : graph_(graph), inputs_(inputs), stream_(request.device.stream()) {
    for (const InputInfo& input : graph.inputs)
      if (input.node->op == Op::input && inputs.contains(input.name))
        make(input.name, request.device);
    for (const OutputInfo& output : graph.outputs) {
      const auto numbers = [&](std::span<const Extent> extents) {
        std::vector<std::int64_t> result;
        for (const Extent extent : extents) result.push_back(evaluate(extent, request.symbols));
        return result;
      };
      outputs_.push_back(request.device.empty(output.node->dtype, numbers(output.node->shape),
                                              numbers(output.strides)));
    }
    stream_.synchronize();
  }

  /// Restores the state before the first run: updated inputs get their original contents, and
  /// outputs a pattern that no run wrote (all bits set).
  void prepare_run() const {
    for (const Array& output : outputs_) {
      const Array bytes = output.view(0, boolean, {output.bytes()});
      const std::vector<std::byte> ones(static_cast<std::size_t>(output.bytes()), std::byte{0xff});
      output.device().upload(bytes, ones, stream_);
    }
    for (const UpdateInfo& update : graph_.updates)
      for (const InputInfo& input : graph_.inputs)
        if (input.node == update.parameter) upload(input.name);
    stream_.synchronize();
  }

  std::vector<Binding> input_bindings() const {
    std::vector<Binding> bindings;
    for (const InputInfo& input : graph_.inputs) {
      if (!inputs_.contains(input.name)) continue;
      const HostArray& values = inputs_.at(input.name);
      if (input.node->op == Op::input)
        bindings.emplace_back(input.name, arrays_.at(input.name));
      else if (is_floating(values.dtype()))
        bindings.emplace_back(input.name, values.real_at(0));
      else
        bindings.emplace_back(input.name, values.integer_at(0));
    }
    return bindings;
  }

  std::vector<Binding> output_bindings() const {
    std::vector<Binding> bindings;
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      bindings.emplace_back(graph_.outputs[i].name, outputs_[i]);
    return bindings;
  }

  /// Bindings of the outputs that are not plain views. Views cost nothing unless they are bound.
  std::vector<Binding> computed_output_bindings(const Executable& executable) const {
    const Interface& interface = executable.state()->interface;
    std::vector<Binding> bindings;
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (!interface.slots[static_cast<std::size_t>(interface.input_count) + i].view)
        bindings.emplace_back(graph_.outputs[i].name, outputs_[i]);
    return bindings;
  }

  std::vector<Result> download() const {
    std::vector<Result> results;
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      results.push_back({.name = graph_.outputs[i].name, .array = download(outputs_[i])});
    for (const InputInfo& input : graph_.inputs)
      for (const UpdateInfo& update : graph_.updates)
        if (input.node == update.parameter)
          results.push_back(
              {.name = input.name, .is_update = true, .array = download(arrays_.at(input.name))});
    return results;
  }

  const Stream& stream() const { return stream_; }

 private:
  /// Makes an input array and uploads it as flat bytes, including the padding of strided inputs.
  void make(const std::string& name, Device device) {
    const HostArray& values = inputs_.at(name);
    const auto bytes = static_cast<std::int64_t>(values.bytes().size());
    const Array memory = device.empty(boolean, {bytes});
    arrays_.emplace(name, memory.view(0, values.dtype(), values.shape(), values.strides()));
    upload(name);
  }

  void upload(const std::string& name) const {
    const HostArray& values = inputs_.at(name);
    const Array& array = arrays_.at(name);
    const auto bytes = static_cast<std::int64_t>(values.bytes().size());
    array.device().upload(array.view(0, boolean, {bytes}), values.bytes(), stream_);
  }

  HostArray download(const Array& array) const {
    HostArray result(array.dtype(), {array.shape().begin(), array.shape().end()},
                     {array.strides().begin(), array.strides().end()});
    const Array bytes = array.view(0, boolean, {array.bytes()});
    array.device().download(bytes, static_cast<void*>(result.bytes().data()), stream_);
    stream_.synchronize();
    return result;
  }

  const GraphData& graph_;
  const HostArrays& inputs_;
  Stream stream_;
  std::map<std::string, Array> arrays_;  ///< of inputs
  std::vector<Array> outputs_;           ///< in the order of the graph
};

/// Serializes runs on the host device, whose counters and failure belong to the process. Clears the
/// failure at the end, since the device refuses all work after one.
class HostDeviceLock {
 public:
  HostDeviceLock() : lock_(mutex()) {}
  ~HostDeviceLock() { host::clear_error(); }
  HostDeviceLock(const HostDeviceLock&) = delete;
  HostDeviceLock& operator=(const HostDeviceLock&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }

  std::lock_guard<std::mutex> lock_;
};

/// Runs `calls` times, waits, and returns the wall time in microseconds. Afterwards the counters of
/// the host device contain exactly this work.
double timed_run(Context& context, const Stream& stream, const Bindings& bindings, bool replay,
                 int calls = 1) {
  if (stream.device().is_host()) host::reset_counters();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) {
    if (replay)
      context.replay(stream, bindings);
    else
      context.run(stream, bindings);
  }
  stream.synchronize();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Times calls after a first one, which may build the CUDA Graph.
CallTimes time_calls(Context& context, const Stream& stream, const Bindings& bindings, bool replay,
                     int repeats) {
  constexpr int kCallsInARow = 20;
  timed_run(context, stream, bindings, replay);
  std::vector<double> waited;
  for (int i = 0; i < repeats; ++i) waited.push_back(timed_run(context, stream, bindings, replay));
  return {
      .waited = quartiles_of(std::move(waited)),
      .back_to_back_us = timed_run(context, stream, bindings, replay, kCallsInARow) / kCallsInARow};
}

/// Fills in the launches and bytes of the last run.
void fill_in_costs(GraphRun& run, const Device& device, const Executable& executable,
                   bool counts_bytes) {
  const Report report = executable.report();
  run.device = report.device;
  run.target = report.target;
  if (device.is_host()) {
    const host::Counters counters = host::counters();
    run.launches = static_cast<std::int64_t>(counters.kernels);
    if (!counts_bytes) return;
    run.bytes_read = static_cast<std::int64_t>(counters.bytes_read);
    run.bytes_written = static_cast<std::int64_t>(counters.bytes_written);
    return;
  }
  for (const KernelReport& kernel : report.kernels) run.launches += kernel.launches;
}

/// The first difference in bits between run `number` and the first run; empty if there is none.
std::string first_difference_text(std::span<const Result> first, std::span<const Result> again,
                                  int number) {
  for (std::size_t i = 0; i < first.size(); ++i)
    if (const auto index = first_difference(first[i].array, again[i].array))
      return fmt::format("{}: run {} differs in bits from run 1, first at [{}]: {} then, {} now",
                         first[i].name, number, fmt::join(*index, ", "),
                         element_text(first[i].array, *index),
                         element_text(again[i].array, *index));
  return {};
}

}  // namespace

Device device_named(const std::string& name) {
  if (name == "host") return host_device();
  return name == "cuda" ? cuda_device() : default_device();
}

Options options_for(const RunRequest& request, Tune tune) {
  Options options = options_from_environment({.tune = tune});
  options.fuse = request.fuse;
  options.rounding = request.numerics.rounding;
  options.math = request.numerics.math;
  options.target = request.target;
  return options;
}

std::vector<Size> named_sizes(const Graph& graph, std::span<const std::int64_t> symbols) {
  std::vector<Size> sizes;
  for (const ExtentAtom* symbol : graph.data().extents->symbols())
    sizes.push_back({symbol->name, symbols[static_cast<std::size_t>(symbol->id)]});
  return sizes;
}

namespace {

/// Compiles `graph`; messages name the user's file.
Executable compile_for(const Graph& graph, const RunRequest& request, const Options& options) {
  return sinter::compile(graph, request.device, options, request.file, /*line=*/1);
}

/// The executable to run. On the host device it counts memory accesses, unless it was loaded.
Executable executable_for(const Graph& graph, const RunRequest& request) {
  if (request.loaded) return *request.loaded;
  Options options = options_for(request, Tune::off);
  options.count = request.device.is_host();
  return compile_for(graph, request, options);
}

}  // namespace

GraphRun run_graph(const Graph& graph, const HostArrays& inputs, const RunRequest& request) {
  const Executable executable = executable_for(graph, request);
  executable.prepare(named_sizes(graph, request.symbols), Views::written);
  std::optional<HostDeviceLock> host_lock;
  if (request.device.is_host()) host_lock.emplace();
  GraphArrays arrays(graph.data(), inputs, request);
  Context context = executable.context();
  const Bindings bindings = context.bind(arrays.input_bindings(), arrays.output_bindings());
  arrays.prepare_run();
  GraphRun run;
  run.wall_us.push_back(timed_run(context, arrays.stream(), bindings, request.replay));
  fill_in_costs(run, request.device, executable, /*counts_bytes=*/request.loaded == nullptr);
  run.results = arrays.download();
  for (int i = 1; i < request.runs; ++i) {
    arrays.prepare_run();
    run.wall_us.push_back(timed_run(context, arrays.stream(), bindings, request.replay));
    if (run.repeat_difference.empty())
      run.repeat_difference = first_difference_text(run.results, arrays.download(), i + 1);
  }
  return run;
}

void print_rehearsal(const Graph& graph, Device device, bool as_json) {
  if (as_json)
    return fmt::print("{{\n  \"graph\": {},\n  \"device\": {},\n  \"virtual\": true\n}}\n",
                      json_quoted(graph.name()), json_quoted(device.name()));
  fmt::print("{} on {}: a rehearsal, all work ran and no time was recorded\n", graph.name(),
             device.name());
}

MeasuredGraph profile_graph(const Graph& graph, const HostArrays& inputs, const RunRequest& request,
                            int repeats) {
  const Executable executable = compile_for(graph, request, options_for(request, Tune::quick));
  GraphArrays arrays(graph.data(), inputs, request);
  Context context = executable.context();
  Profile times =
      profile(context, arrays.input_bindings(), arrays.computed_output_bindings(executable),
              {.repeats = repeats, .stream = arrays.stream()});
  return {.profile = std::move(times), .report = executable.report()};
}

GraphTimes time_graph(const Graph& graph, const HostArrays& inputs, const RunRequest& request,
                      int repeats) {
  const Executable executable = compile_for(graph, request, options_for(request, Tune::quick));
  executable.prepare(named_sizes(graph, request.symbols), Views::written);
  GraphArrays arrays(graph.data(), inputs, request);
  Context context = executable.context();
  const Bindings bindings = context.bind(arrays.input_bindings(), arrays.output_bindings());
  GraphTimes times;
  times.run = time_calls(context, arrays.stream(), bindings, /*replay=*/false, repeats);
  times.replay = time_calls(context, arrays.stream(), bindings, /*replay=*/true, repeats);
  times.profile = profile(context, bindings, {.repeats = repeats, .stream = arrays.stream()});
  return times;
}

}  // namespace sinter::command
