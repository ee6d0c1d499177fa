#include "tests/support/run/run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "ir/graph/node.h"
#include "ir/verify/symbol_sizes.h"
#include "runtime/driver/host/host_driver.h"

namespace sinter::test {

namespace {

std::vector<std::int64_t> numbers(std::span<const Extent> extents,
                                  std::span<const std::int64_t> symbols) {
  std::vector<std::int64_t> result;
  for (const Extent extent : extents) result.push_back(evaluate(extent, symbols));
  return result;
}

/// Device memory for an array of any strides, `misalignment` bytes past an aligned address.
Array make_array(Device device, DType dtype, std::span<const std::int64_t> shape,
                 std::span<const std::int64_t> strides, std::int64_t bytes,
                 std::int64_t misalignment) {
  const Array memory = device.empty(boolean, {bytes + misalignment});
  return memory.view(misalignment, dtype, shape, strides);
}

class Runner {
 public:
  Runner(const Graph& graph, Device device, const HostArrays& inputs, const RunRequest& request)
      : graph_(graph.data()),
        device_(device),
        inputs_(inputs),
        request_(request),
        stream_(device.stream()) {}

  void bind() {
    arrays_.clear();
    for (const InputInfo& input : graph_.inputs) {
      const HostArray& values = inputs_.at(input.name);
      if (input.node->op == Op::scalar) continue;
      const auto bytes = static_cast<std::int64_t>(values.bytes().size());
      const Array array = make_array(device_, values.dtype(), values.shape(), values.strides(),
                                     bytes, request_.misalignment);
      // As flat bytes, to copy padding too.
      device_.upload(array.view(0, boolean, {bytes}), values.bytes(), stream_);
      arrays_.emplace(input.name, array);
    }
    for (const OutputInfo& output : graph_.outputs) {
      const std::vector<std::int64_t> shape = numbers(output.node->shape, request_.symbols);
      const std::vector<std::int64_t> strides = numbers(output.strides, request_.symbols);
      const HostArray place(output.node->dtype, shape, strides);
      arrays_.emplace(
          "output " + output.name,
          make_array(device_, output.node->dtype, shape, strides,
                     static_cast<std::int64_t>(place.bytes().size()), request_.misalignment));
    }
  }

  std::vector<Binding> input_bindings() const {
    std::vector<Binding> bindings;
    for (const InputInfo& input : graph_.inputs) {
      if (input.node->op == Op::input) {
        bindings.emplace_back(input.name, arrays_.at(input.name));
        continue;
      }
      const HostArray& value = inputs_.at(input.name);
      if (is_floating(value.dtype()))
        bindings.emplace_back(input.name, value.real_at(0));
      else
        bindings.emplace_back(input.name, value.integer_at(0));
    }
    return bindings;
  }

  std::vector<Binding> output_bindings() const {
    std::vector<Binding> bindings;
    for (const OutputInfo& output : graph_.outputs)
      bindings.emplace_back(output.name, arrays_.at("output " + output.name));
    return bindings;
  }

  HostArrays results() {
    HostArrays results;
    for (const OutputInfo& output : graph_.outputs)
      results.emplace(output.name, download(arrays_.at("output " + output.name)));
    for (const UpdateInfo& update : graph_.updates)
      for (const InputInfo& input : graph_.inputs)
        if (input.node == update.parameter)
          results.emplace(input.name, download(arrays_.at(input.name)));
    stream_.synchronize();
    return results;
  }

  const Stream& stream() const { return stream_; }

 private:
  HostArray download(const Array& array) {
    HostArray result(array.dtype(), {array.shape().begin(), array.shape().end()},
                     {array.strides().begin(), array.strides().end()});
    const Array bytes = array.view(0, boolean, {array.bytes()});
    device_.download(bytes, static_cast<void*>(result.bytes().data()), stream_);
    return result;
  }

  const GraphData& graph_;
  Device device_;
  const HostArrays& inputs_;
  const RunRequest& request_;
  Stream stream_;
  std::map<std::string, Array> arrays_;
};

}  // namespace

HostArrays run_executable(const Executable& executable, const Graph& graph,
                          const HostArrays& inputs, const RunRequest& request) {
  Context context = executable.context(request.communicators);
  Runner runner(graph, executable.device(), inputs, request);
  runner.bind();
  for (int i = 0; i < request.runs; ++i)
    if (request.as_graph)
      context.replay(runner.stream(), runner.input_bindings(), runner.output_bindings());
    else
      context.run(runner.stream(), runner.input_bindings(), runner.output_bindings());
  return runner.results();
}

RunResult run_graph(const Graph& graph, Device device, const HostArrays& inputs,
                    const RunRequest& request) {
  const Executable executable = compile(graph, device, request.options);
  Context context = executable.context(request.communicators);
  Runner runner(graph, device, inputs, request);
  runner.bind();
  if (request.as_graph) {
    context.replay(runner.stream(), runner.input_bindings(), runner.output_bindings());
    // The second replay has new arrays, so every pointer must be patched.
    runner.bind();
    context.replay(runner.stream(), runner.input_bindings(), runner.output_bindings());
    RunResult result{.results = runner.results()};
    result.report = executable.report();
    return result;
  }
  // Planning and tuning end before counting starts.
  std::vector<Size> sizes;
  const auto symbols = graph.data().extents->symbols();
  for (std::size_t i = 0; i < symbols.size(); ++i)
    sizes.push_back({symbols[i]->name, request.symbols[i]});
  if (request.misalignment == 0) executable.prepare(sizes, Views::written);
  runner.stream().synchronize();
  if (device.is_host()) host::reset_counters();
  context.run(runner.stream(), runner.input_bindings(), runner.output_bindings());
  runner.stream().synchronize();
  RunResult result;
  if (device.is_host()) {
    const host::Counters counters = host::counters();
    result.launches = static_cast<std::int64_t>(counters.kernels);
    result.bytes_read = static_cast<std::int64_t>(counters.bytes_read);
    result.bytes_written = static_cast<std::int64_t>(counters.bytes_written);
  }
  result.results = runner.results();
  result.report = executable.report();
  return result;
}

}  // namespace sinter::test
