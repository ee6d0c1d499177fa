// Collectives beside kernels: what waits for a collective, and what runs meanwhile.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/logging/trace.h"
#include "sinter/sinter.h"
#include "tests/support/doubles/two_step_engine.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::test::overlap_test {
namespace {

using Json = nlohmann::json;

struct Span {
  std::string name;
  double begin = 0;
  double end = 0;
};

const RankGroup kGroup = {.name = "data", .size = 2};
const Options kApart = {.tune = Tune::off, .skip = {"fuse_launches"}, .optimize_host = false};

class Overlap : public ::testing::Test {
 protected:
  ~Overlap() override { Trace::end(); }

  static Executable compiled(const Device& device) {
    Graph graph("beside");
    const Tensor x = graph.input("x", f32, {kElements});
    const Tensor z = graph.input("z", f32, {kElements, kElements});
    const Tensor total = all_reduce(x, kGroup, {.order = Reduce::fast});
    graph.output("reader", exp(total));
    graph.output("independent", sum(z, {0}));
    return compile(graph, device, kApart);
  }

  /// Runs or replays the program `kRuns` times with a trace.
  void run(bool as_graph) {
    Context context = executable_.context({{"data", two_step_communicator()}});
    const Stream stream = device_.stream();
    const Array x = device_.empty(f32, {kElements});
    const Array z = device_.empty(f32, {kElements, kElements});
    device_.upload(x, std::vector<float>(kElements, 0.5F), stream);
    device_.upload(z, std::vector<float>(kElements * kElements, 1.0F), stream);
    const Array reader = device_.empty(f32, {kElements});
    const Array independent = device_.empty(f32, {kElements});
    Trace::begin(path_);
    for (int run = 0; run < kRuns; ++run) {
      const Bindings bindings = context.bind({{"x", x}, {"z", z}},
                                             {{"reader", reader}, {"independent", independent}});
      if (as_graph)
        context.replay(stream, bindings);
      else
        context.run(stream, bindings);
      stream.synchronize();
    }
    Trace::end();
  }

  /// The spans of the kernel that has the op, or of the collective of this name, in order.
  std::vector<Span> spans(std::string_view op) const {
    std::string source;
    for (const KernelReport& kernel : executable_.report().kernels)
      for (const std::string& node : kernel.nodes)
        if (node.find(fmt::format("= {} ", op)) != node.npos) source = kernel.source;
    std::vector<Span> found;
    std::ifstream file(path_);
    for (const Json& event : Json::parse(file)) {
      if (event["ph"] != "X") continue;
      const std::string name = event["name"];
      const bool is_found = event["cat"] == "host kernel" ? source.find(name) != source.npos
                                                          : event["cat"] == "kernel" && name == op;
      const double begin = event["ts"];
      if (is_found) found.push_back({name, begin, begin + event["dur"].get<double>()});
    }
    std::ranges::sort(found, {}, &Span::begin);
    return found;
  }

  static constexpr std::int64_t kElements = 32;
  static constexpr int kRuns = 40;

  const Device device_ = host_device();
  const ScratchFolder folder_;
  const std::string path_ = folder_.path() + "/trace.json";
  const Executable executable_ = compiled(device_);
};

/// The host device chooses at random among the work that may run, so some runs overlap.
TEST_F(Overlap, IndependentKernelsRunMeanwhileAndReadersWait) {
  for (const bool as_graph : {false, true}) {
    SCOPED_TRACE(as_graph ? "replay" : "run");
    run(as_graph);
    const std::vector<Span> collectives = spans("all_reduce");
    const std::vector<Span> readers = spans("exp");
    const std::vector<Span> independent = spans("sum");
    ASSERT_EQ(collectives.size(), std::size_t{kRuns});
    ASSERT_EQ(readers.size(), std::size_t{kRuns});
    ASSERT_EQ(independent.size(), std::size_t{kRuns});
    int overlaps = 0;
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      EXPECT_GE(readers[i].begin, collectives[i].end);
      overlaps += independent[i].begin > collectives[i].begin &&
                  independent[i].end < collectives[i].end;
    }
    EXPECT_GT(overlaps, 0);
  }
}

/// Runs `graph`, whose n is 0, many times. Its output y must be that of each run.
void expect_sums_of_each_run(const Graph& graph, std::string_view empty) {
  const Device device = host_device();
  Context context = compile(graph, device, kApart).context({{"data", two_step_communicator()}});
  const Stream stream = device.stream();
  const Array p = device.empty(f32, {4});
  const Array none = device.empty(f32, {0, 4});
  const Array y = device.empty(f32, {2});
  for (int run = 1; run <= 40; ++run) {
    const auto number = static_cast<float>(run);
    device.upload(p, std::vector<float>{number, 2 * number, 0, 0}, stream);
    context.run(stream, {{"p", p}, {empty, none}}, {{"y", y}});
    EXPECT_EQ(device.download<float>(y, stream), (std::vector<float>{number, 2 * number}));
  }
}

// The launch order has no edge from the gather to the last kernel: the product is between them.
TEST(OverlapOfEmptyLaunches, ReadersBehindAnEmptyCallWait) {
  Graph graph("product");
  const Tensor p = graph.input("p", f32, {4});
  const Tensor x = graph.input("x", f32, {graph.extent("n"), 4});
  const Tensor all = all_gather(p, kGroup);
  const Tensor product = matmul(x, reshape(all, {4, 2}));
  graph.output("y", sum(product, {0}) + slice(all, 0, 0, 2));
  expect_sums_of_each_run(graph, "x");
}

TEST(OverlapOfEmptyLaunches, ReadersBehindAnEmptyCollectiveWait) {
  Graph graph("two");
  const Tensor p = graph.input("p", f32, {4});
  const Tensor q = graph.input("q", f32, {graph.extent("n"), 4});
  const Tensor all = all_gather(p, kGroup);
  const Tensor none = all_gather(q, kGroup);
  graph.output("y", slice(sum(none, {0}), 0, 0, 2) + slice(all, 0, 0, 2));
  expect_sums_of_each_run(graph, "q");
}

}  // namespace
}  // namespace sinter::test::overlap_test
