// The arguments of an Executable, sizes of extents, failed host work, and arrays without elements.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinter/sinter.h"
#include "tests/support/files/errors.h"

namespace sinter::arguments_test {
namespace {

using test::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Options kOptions = {.tune = Tune::off, .optimize_host = false};

TEST(Arguments, AreListedInTheOrderOfCalls) {
  const Executable executable = compile(parse(R"(
graph step(x: f32[rows, 4], w: f32[4], lr: f32[]) {
  y = mul x, lr
  v = add w, 1.0
  update w, v
  return y
})"),
                                        host_device(), kOptions);
  std::vector<std::string> texts;
  for (const CallArgument& argument : executable.arguments())
    texts.push_back(argument.name + ": " + argument.type + (argument.is_written ? ", written" : ""));
  EXPECT_THAT(texts, ElementsAre("x: f32[rows, 4]", "w: f32[4], written", "lr: f32[]", "y: f32[rows, 4], written"));
  EXPECT_EQ(executable.arguments().back().kind, CallArgument::Kind::output);
}

TEST(Arguments, ExtentsHaveNumbersForSizes) {
  Graph graph("g");
  const Extent rows = graph.extent("rows");
  const Extent columns = graph.extent("columns");
  const Extent halves = floor_div(rows * columns + 1, 2);
  EXPECT_EQ(extent_value(halves, std::vector<Size>{{"columns", 5}, {"rows", 3}}), 8);
  EXPECT_EQ(extent_value(Extent(7), std::vector<Size>{}), 7);
  EXPECT_THAT(error_of([&] { return extent_value(halves, std::vector<Size>{{"rows", 3}}); }),
              HasSubstr("the size of columns is missing"));
  EXPECT_THAT(error_of([&] { return extent_value(rows, std::vector<Size>{{"rows", -1}}); }), HasSubstr("the size of rows is -1"));
}

TEST(Arguments, FailedHostWorkIsReported) {
  register_opaque("fails_late", {.enqueue = [](const OpaqueCall& call) {
                    call.on_host([] { throw std::runtime_error("too late"); });
                    return 0;
                  }});
  const Device device = host_device();
  const Stream stream = device.stream();
  Context context = compile(parse("graph g(x: f32[3]) {\n  y = opaque fails_late x : f32[3]\n  return y\n}"), device, kOptions)
                        .context();
  const Array x = device.empty(f32, {3});
  const Array y = device.empty(f32, {3});
  context.run(stream, {{"x", x}}, {{"y", y}});
  stream.synchronize();
  EXPECT_THAT(error_of([&] { context.check(); }), HasSubstr("too late"));
  EXPECT_EQ(error_of([&] { context.check(); }), "(nothing thrown)");
  unregister_opaque("fails_late");
}

TEST(Arguments, StridesWithoutElementsDoNotMatter) {
  const Device device = host_device();
  const Stream stream = device.stream();
  Context context = compile(parse("graph g(x: f32[n, 3]) {\n  y = neg x\n  return y\n}"), device, kOptions).context();
  const Array x = device.empty(f32, {0, 3}, {0, 0});
  EXPECT_TRUE(x.is_row_major());
  const Outputs outputs = context.run(stream, {{"x", x}});
  EXPECT_THAT(outputs["y"].shape(), ElementsAre(0, 3));
}

}  // namespace
}  // namespace sinter::arguments_test
