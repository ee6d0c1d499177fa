// Adds the profile and tuning report of a run to an explanation of the same graph.
#include <fstream>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sinter/sinter.h"
#include "tests/support/files/json_schema.h"

namespace sinter::test::explain_measured_test {
namespace {

using nlohmann::json;

Graph two_steps() {
  Graph graph("two_steps");
  const Tensor x = graph.input("x", f32, {graph.extent("rows"), 256});
  graph.output("columns", sum(exp(x), {0}));
  graph.output("scaled", mul(x, 2.0F));
  return graph;
}

TEST(ExplainMeasuredTest, AddsTheProfileAndReportOfARun) {
  const Graph graph = two_steps();
  const Options options{
      .tune = Tune::off, .cache = {.mode = CacheMode::off}, .optimize_host = false};
  const Device device = host_device();
  const Executable executable = compile(graph, device, options);
  Context context = executable.context();
  const Array x = device.empty(f32, {512, 256});
  device.upload(x, std::vector<float>(512 * 256, 0.5F), device.stream());
  const Array columns = device.empty(f32, {256});
  const Array scaled = device.empty(f32, {512, 256});
  const Profile times =
      profile(context, {{"x", x}}, {{"columns", columns}, {"scaled", scaled}}, {.repeats = 2});

  Explanation explanation = explain(graph, {{"rows", 512}}, options);
  add_profile(explanation, times);
  add_tuning(explanation, executable.report());
  const json answer = json::parse(explanation_json(explanation));
  ASSERT_FALSE(answer["kernels"].empty());
  for (std::size_t i = 0; i < answer["kernels"].size(); ++i) {
    const json& kernel = answer["kernels"][i];
    EXPECT_EQ(kernel["name"], times.kernels[i].name);
    EXPECT_GT(kernel["measured"]["median_us"], 0);
    EXPECT_FALSE(kernel["candidates"].empty());
    EXPECT_EQ(kernel["tuning"], executable.report().kernels[i].tuning);
  }
  EXPECT_EQ(answer["measured_on"].get<std::string>().find(times.device), 0U);
  if (std::ifstream schema(SINTER_SOURCE_DIR "/runtime/observe/explain.schema.json"); schema) {
    EXPECT_EQ(schema_offences(json::parse(schema), answer), "");
  }
}

}  // namespace
}  // namespace sinter::test::explain_measured_test
