// Stream capture as a user does it: a user's CUDA Graph, programs to capture, and a check against
// runs outside of a capture.
#pragma once

#include <concepts>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "ir/oracle/random_inputs.h"
#include "runtime/device/device_state.h"
#include "sinter/sinter.h"

namespace sinter::test {

/// A CUDA Graph of the user, captured from a stream while `record` runs. As in a user's program,
/// the thread's capture mode is the default one, and this class makes the context current.
class UserGraph {
 public:
  UserGraph(const Stream& stream, CUstreamCaptureMode mode, std::invocable auto record)
      : device_(*stream.device().state()) {
    const CurrentContext current(device_);
    const Driver& driver = device_.driver;
    check(driver, driver.cuStreamBeginCapture(stream.state()->handle, mode), "cuStreamBeginCapture",
          "a test");
    try {
      record();
    } catch (...) {
      driver.cuStreamEndCapture(stream.state()->handle, &graph_);
      if (graph_) driver.cuGraphDestroy(graph_);
      throw;
    }
    check(driver, driver.cuStreamEndCapture(stream.state()->handle, &graph_), "cuStreamEndCapture",
          "a test");
    check(driver, driver.cuGraphInstantiateWithFlags(&exec_, graph_, 0),
          "cuGraphInstantiateWithFlags", "a test");
  }
  ~UserGraph() {
    const CurrentContext current(device_);
    device_.driver.cuGraphExecDestroy(exec_);
    device_.driver.cuGraphDestroy(graph_);
  }
  UserGraph(const UserGraph&) = delete;
  UserGraph& operator=(const UserGraph&) = delete;

  void launch(const Stream& stream) const {
    const CurrentContext current(device_);
    check(device_.driver, device_.driver.cuGraphLaunch(exec_, stream.state()->handle),
          "cuGraphLaunch", "a test");
  }
  std::size_t nodes() const {
    const CurrentContext current(device_);
    std::size_t count = 0;
    EXPECT_EQ(device_.driver.cuGraphGetNodes(graph_, nullptr, &count), CUDA_SUCCESS);
    return count;
  }

 private:
  const DeviceState& device_;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
};

/// Arrays for all inputs and outputs of a program.
class ProgramArrays {
 public:
  ProgramArrays(const Graph& graph, std::vector<std::int64_t> symbols, Device device,
                const Stream& stream)
      : graph_(graph), symbols_(std::move(symbols)), device_(device), stream_(stream) {
    const HostArrays values = random_inputs(graph_, symbols_, /*seed=*/0);
    for (const auto& input : graph_.data().inputs) {
      const HostArray& value = values.at(input.name);
      if (input.node->op == Op::scalar)
        numbers_.emplace(input.name, value.real_at(0));
      else
        arrays_.emplace(input.name, device_.empty(value.dtype(), value.shape()));
    }
    for (const auto& output : graph_.data().outputs) {
      std::vector<std::int64_t> shape;
      for (const Extent extent : output.node->shape) shape.push_back(evaluate(extent, symbols_));
      outputs_.emplace(output.name, device_.empty(output.node->dtype, shape));
    }
    refill(/*seed=*/0);
  }

  /// Writes other numbers into the same input arrays.
  void refill(std::uint64_t seed) {
    const HostArrays values = random_inputs(graph_, symbols_, seed);
    for (const auto& [name, array] : arrays_)
      device_.upload(array, static_cast<const void*>(values.at(name).bytes().data()), stream_);
    stream_.synchronize();
  }
  std::vector<Binding> inputs() const {
    std::vector<Binding> bindings;
    for (const auto& [name, array] : arrays_) bindings.emplace_back(name, array);
    for (const auto& [name, number] : numbers_) bindings.emplace_back(name, number);
    return bindings;
  }
  std::vector<Binding> outputs() const {
    std::vector<Binding> bindings;
    for (const auto& [name, array] : outputs_) bindings.emplace_back(name, array);
    return bindings;
  }
  /// The bytes of all outputs, and of all inputs, because they may be updated.
  std::map<std::string, std::vector<std::byte>> bytes() const {
    std::map<std::string, std::vector<std::byte>> all;
    for (const auto* const arrays : {&arrays_, &outputs_})
      for (const auto& [name, array] : *arrays) {
        std::vector<std::byte>& bytes = all[name];
        bytes.resize(static_cast<std::size_t>(array.bytes()));
        device_.download(array, static_cast<void*>(bytes.data()), stream_);
      }
    stream_.synchronize();
    return all;
  }

 private:
  const Graph& graph_;
  std::vector<std::int64_t> symbols_;
  Device device_;
  Stream stream_;
  std::map<std::string, Array> arrays_;
  std::map<std::string, Array> outputs_;
  std::map<std::string, double> numbers_;
};

inline constexpr CUstreamCaptureMode kCaptureModes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL,
                                                        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                                        CU_STREAM_CAPTURE_MODE_RELAXED};

struct CapturedProgram {
  std::string name;
  std::string text;
  std::vector<std::int64_t> symbols = {};
  bool fuse = true;
};

/// Twenty kernels without fusion.
inline std::string long_chain() {
  std::string body;
  for (int i = 0; i < 20; ++i)
    body += "  a" + std::to_string(i) + " = " + (i % 2 ? "mul " : "add ") +
            (i == 0 ? "x" : "a" + std::to_string(i - 1)) + ", 0.5\n";
  return "graph chain(x: f32[n]) {\n" + body + "  return a19\n}\n";
}

/// Programs with one kernel, many kernels, temporaries, a workspace with tickets, branches, and
/// in-place updates.
inline std::vector<CapturedProgram> captured_programs() {
  return {
      {"one kernel", "graph one(x: f32[n], a: f32) {\n  y = mul x, a\n  return y\n}\n", {1000}},
      {"twenty kernels", long_chain(), {777}, /*fuse=*/false},
      {"work space", "graph total(x: f32[n]) {\n  y = sum x\n  return y\n}\n", {300000}},
      {"branches",
       "graph branches(x: f32[n], p: f32[n], s: f32) {\n  step = mul x, s\n  a = add step, 1.0\n"
       "  b = mul p, 2.0\n  q = sub p, step\n  update p, q\n  return a, b\n}\n",
       {513},
       /*fuse=*/false},
  };
}

/// Captures a run once and launches the captured graph several times with other inputs. Expects the
/// bits of runs outside of a capture. `is_cold`: the capture is the executable's first run.
inline void check_captured(const CapturedProgram& program, Device device, CUstreamCaptureMode mode,
                           bool as_graph, bool is_cold, const Options& given = {}) {
  SCOPED_TRACE(testing::Message() << program.name << ", mode " << static_cast<int>(mode)
                                  << (as_graph ? ", replayed" : ", run")
                                  << (is_cold ? ", cold" : ""));
  const Graph graph = parse(program.text);
  Options options = given;
  options.fuse = program.fuse;
  const Stream stream = device.stream();
  ProgramArrays expected(graph, program.symbols, device, stream);
  ProgramArrays actual(graph, program.symbols, device, stream);
  const Executable executable = compile(graph, device, options);
  Context context = executable.context();
  if (!is_cold) {
    context.run(stream, expected.inputs(), expected.outputs());
    expected.refill(0);
  }
  const UserGraph captured(stream, mode, [&] {
    if (as_graph)
      context.replay(stream, actual.inputs(), actual.outputs());
    else
      context.run(stream, actual.inputs(), actual.outputs());
  });
  EXPECT_EQ(captured.nodes(), 1U);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    // The third round continues with the arrays that the second one updated.
    if (seed != 3) {
      expected.refill(seed);
      actual.refill(seed);
    }
    context.run(stream, expected.inputs(), expected.outputs());
    captured.launch(stream);
    EXPECT_EQ(actual.bytes(), expected.bytes()) << "launch " << seed;
  }
}

}  // namespace sinter::test
