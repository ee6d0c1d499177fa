// Convolutions and their gradients: shapes, messages, text form, values and vjps.
#include "sinter/library_ops.h"

#include "ir/verify/verify.h"
#include "sinter/text.h"
#include "sinter/views.h"
#include "tests/support/files/errors.h"
#include "tests/support/graphs/gradient_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::conv_test {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

const ConvOptions kEverything = {.strides = {2, 1},
                                 .dilations = {1, 2},
                                 .padding_begin = {1, 2},
                                 .padding_end = {0, 1},
                                 .groups = 2};

TEST(ConvTest, HasTheShapeOfTheFormula) {
  Graph graph("g");
  const Extent n = graph.extent("n");
  const Extent h = graph.extent("h");
  const Tensor x = graph.input("x", f32, {n, 4, h, 9});
  const Tensor w = graph.input("w", f32, {6, 2, 3, 3});
  EXPECT_EQ(type_text(*conv(x, w, kEverything).node()), "f32[n, 6, floor_div(h, 2), 8]");
  const Tensor line = graph.input("line", bf16, {1, 3, 10});
  const Tensor taps = graph.input("taps", bf16, {5, 3, 4});
  EXPECT_EQ(type_text(*conv(line, taps).node()), "bf16[1, 5, 7]");
  verify(graph);
}

TEST(ConvTest, MessagesNameShapesAndOptions) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {1, 4, 8, 8});
  const auto message = [&](Tensor w, const ConvOptions& options) {
    return error_of([&] { conv(Operand(x, "m.cpp", 7), Operand(w, "m.cpp", 7), options); });
  };
  const Tensor w = graph.input("w", f32, {6, 2, 3, 3});
  EXPECT_EQ(message(w, {}),
            "conv: x [1, 4, 8, 8] has 4 channels, and w [6, 2, 3, 3] takes 2 in each of 1 groups; "
            "the products must be equal (recorded at m.cpp:7)");
  EXPECT_EQ(message(graph.input("w5", f32, {5, 2, 3, 3}), {.groups = 2}),
            "conv: w [5, 2, 3, 3] has 5 filters, which 2 groups do not divide (recorded at "
            "m.cpp:7)");
  EXPECT_EQ(message(w, {.strides = {1}, .groups = 2}),
            "conv: strides has 1 numbers, [1]; give one for each of the 2 spatial axes (recorded "
            "at m.cpp:7)");
  EXPECT_EQ(message(w, {.dilations = {1, 0}, .groups = 2}),
            "conv: dilations has 0; it must be at least 1 and fit an int (recorded at m.cpp:7)");
  EXPECT_EQ(message(graph.input("tall", f32, {6, 4, 11, 3}), {.padding_begin = {1, 1}}),
            "conv: the filters reach over 11 positions of spatial axis 0, which has 10 with its "
            "padding (recorded at m.cpp:7)");
  EXPECT_THAT(message(graph.input("half", f16, {6, 4, 3, 3}), {}),
              HasSubstr("conv: the operands are f32[1, 4, 8, 8] and f16[6, 4, 3, 3]; both must be"));
  EXPECT_THAT(message(graph.input("flat", f32, {6, 4}), {}), HasSubstr("it must have 3 to 5 axes"));
  const Tensor g = graph.input("g", f32, {1, 6, 8, 8});
  EXPECT_THAT(error_of([&] { conv_data_gradient(g, w, {1, 4, 8, 8}, {.groups = 2}); }),
              HasSubstr("conv_data_gradient: g is f32[1, 6, 8, 8], but the convolution has the "
                        "shape [1, 6, 6, 6]"));
}

TEST(ConvTest, TextFormRoundTrips) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {1, 4, 8, 8});
  const Tensor w = graph.input("w", f32, {6, 4, 3, 3});
  const Tensor grouped = graph.input("grouped", f32, {6, 2, 3, 3});
  const Tensor y = conv(x, w, {.padding_begin = {1, 1}});
  graph.output("y", y);
  graph.output("z", conv(x, grouped, kEverything));
  graph.output("dw", conv_weight_gradient(x, y, w.shape(), {.padding_begin = {1, 1}}));
  const std::string text = print(graph);
  EXPECT_THAT(text, HasSubstr("y = conv x, w {padding_begin = [1, 1]}\n"));
  EXPECT_THAT(text, HasSubstr("z = conv x, grouped {strides = [2, 1], dilations = [1, 2], "
                              "padding_begin = [1, 2], padding_end = [0, 1], groups = 2}\n"));
  EXPECT_THAT(text, HasSubstr("dw = conv_weight_gradient x, y {padding_begin = [1, 1], "
                              "shape = [6, 4, 3, 3]}\n"));
  EXPECT_EQ(print(parse(text)), text);
}

TEST(ConvTest, SlidesTheFiltersOverThePaddedInput) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {1, 1, 5});
  const Tensor w = graph.input("w", f32, {1, 1, 2});
  const HostArrays values = {{"x", array(f32, {1, 1, 5}, {1, 2, 3, 4, 5})},
                             {"w", array(f32, {1, 1, 2}, {10, 1})}};
  EXPECT_THAT(value_of(graph, conv(x, w), values).reals, ElementsAre(12, 23, 34, 45));
  EXPECT_THAT(value_of(graph, conv(x, w, {.strides = {2}, .padding_begin = {1}}), values).reals,
              ElementsAre(1, 23, 45));
  EXPECT_THAT(value_of(graph, conv(x, w, {.dilations = {3}}), values).reals, ElementsAre(14, 25));
  EXPECT_THAT(value_of(graph, conv_transpose(x, w, {{.strides = {2}}}), values).reals,
              ElementsAre(10, 1, 20, 2, 30, 3, 40, 4, 50, 5));
}

TEST(ConvTest, EachGroupSeesItsOwnChannels) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {1, 4, 1});
  const Tensor w = graph.input("w", f32, {4, 2, 1});
  EXPECT_THAT(value_of(graph, conv(x, w, {.groups = 2}),
                       {{"x", array(f32, {1, 4, 1}, {1, 10, 100, 1000})},
                        {"w", array(f32, {4, 2, 1}, {1, 1, 2, 2, 3, 3, 4, 4})}})
                  .reals,
              ElementsAre(11, 22, 3300, 4400));
}

TEST(ConvTest, OutputPaddingAddsPositions) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {1, 2, 4, 4});
  const Tensor w = graph.input("w", f32, {2, 3, 3, 3});
  const ConvTransposeOptions options{{.strides = {2, 2}, .padding_begin = {1, 1}}, {1, 0}};
  EXPECT_EQ(type_text(*conv_transpose(x, w, options).node()), "f32[1, 3, 8, 7]");
  verify(graph);
  EXPECT_THAT(error_of([&] { conv_transpose(x, w, {{.strides = {2, 2}}, {2, 0}}); }),
              HasSubstr("conv_transpose: output_padding has 2 for spatial axis 0; it must be at "
                        "least 0 and below the stride, 2"));
}

TEST(ConvGradient, MatchesDifferences) {
  const HostArray x = random({1, 4, 5, 5});
  const HostArray w = random({2, 2, 3, 2}, -2, 2, 2);
  expect_differences([](const Tensors& t) { return conv(t[0], t[1], kEverything); }, {x, w});
  expect_differences([](const Tensors& t) { return conv(t[0], t[1], {.strides = {2}}); },
                     {random({2, 2, 6}), random({3, 2, 3}, -2, 2, 2)});
}

TEST(ConvGradient, GradientsHaveGradients) {
  const ConvOptions options{.strides = {2}, .padding_begin = {1}};
  expect_differences(
      [&](const Tensors& t) { return conv_data_gradient(t[0], t[1], {1, 2, 6}, options); },
      {random({1, 3, 3}), random({3, 2, 3}, -2, 2, 2)});
  expect_differences(
      [&](const Tensors& t) { return conv_weight_gradient(t[0], t[1], {3, 2, 3}, options); },
      {random({1, 2, 6}), random({1, 3, 3}, -2, 2, 2)});
}

TEST(ConvGradient, TransposedConvolution) {
  const ConvTransposeOptions options{{.strides = {2}, .padding_begin = {1}}, {1}};
  expect_differences([&](const Tensors& t) { return conv_transpose(t[0], t[1], options); },
                     {random({1, 3, 3}), random({3, 2, 3}, -2, 2, 2)});
}

}  // namespace
}  // namespace sinter::conv_test
