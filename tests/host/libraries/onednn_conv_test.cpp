// Convolutions of the host device by oneDNN: values against sums from the definition, and equal
// bits in every run.
#include "runtime/libraries/onednn/onednn_conv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/driver/host/execution/execute.h"
#include "tests/support/run/library_call.h"

namespace sinter::test::onednn_conv_test {
namespace {

using Shape = std::vector<std::int64_t>;

/// The arrays of a call of `kind` by their roles.
ConvArrays arrays_of(ConvKind kind, const OpaqueCall& call) {
  void* const first = call.inputs[0].data;
  void* const second = call.inputs[1].data;
  void* const result = call.outputs[0].data;
  if (kind == ConvKind::forward) return {.x = first, .w = second, .y = result};
  if (kind == ConvKind::data_gradient) return {.x = result, .w = second, .y = first};
  return {.x = first, .w = result, .y = second};
}

/// A function that computes with oneDNN only.
OpaqueFunction function_of(const OneDnn& library, ConvKind kind) {
  const auto conv_of = [&library, kind](const OpaqueSizes& sizes) {
    auto conv = onednn_conv(library, conv_problem(kind, sizes));
    if (!conv) throw std::runtime_error("oneDNN does not compute this convolution");
    return conv;
  };
  return {.enqueue =
              [=](const OpaqueCall& call) {
                conv_of(call)->run(arrays_of(kind, call),
                                   {.data = call.workspace, .bytes = call.workspace_bytes});
                return 0;
              },
          .workspace = [=](const OpaqueSizes& sizes) { return conv_of(sizes)->workspace_bytes(); },
          .check = [=](const OpaqueSizes& sizes) { conv_of(sizes); }};
}

class OneDnnConvs : public testing::TestWithParam<ConvKind> {
 protected:
  void SetUp() override {
    const OneDnnOrReason opened = open_onednn("onednn");
    if (!opened.library) GTEST_SKIP() << opened.reason;
    library = opened.library;
    function = function_of(*library, GetParam());
  }
  void TearDown() override { host::set_workers(0); }

  void expect_conv(const Shape& x, const Shape& w, ConvSettings settings = {}) {
    const std::string sizes = testing::PrintToString(x) + testing::PrintToString(w);
    const LibraryCall exact = conv_call(GetParam(), f32, x, w, settings);
    EXPECT_EQ(exact_difference(exact, run_call(function, exact, device),
                               expected_conv(GetParam(), exact)),
              "")
        << sizes;
    settings.is_exact = false;
    const LibraryCall call = conv_call(GetParam(), f32, x, w, settings);
    const auto bytes = run_call(function, call, device);
    EXPECT_EQ(difference(call, bytes, expected_conv(GetParam(), call)), "") << sizes;
    for (const int workers : {1, 3}) {
      host::set_workers(workers);
      EXPECT_EQ(run_call(function, call, device), bytes) << sizes << workers;
    }
    host::set_workers(0);
  }

  const Device device = host_device();
  const OneDnn* library = nullptr;
  OpaqueFunction function;
};

TEST_P(OneDnnConvs, OneToThreeAxes) {
  expect_conv({2, 16, 40}, {32, 16, 5});
  expect_conv({2, 16, 13, 11}, {32, 16, 3, 2});
  expect_conv({1, 16, 6, 7, 9}, {32, 16, 2, 3, 3});
}

TEST_P(OneDnnConvs, ChannelsThatFillNoBlock) {
  expect_conv({2, 3, 19, 17}, {32, 3, 7, 7}, {.strides = {2, 2}, .padding_begin = {3, 3}});
  expect_conv({2, 5, 9, 11}, {7, 5, 3, 3}, {.padding_begin = {1, 1}});
  expect_conv({1, 40, 9, 11}, {20, 40, 3, 3});
}

TEST_P(OneDnnConvs, PaddingStridesAndDilations) {
  expect_conv({1, 16, 9, 8}, {16, 16, 3, 3}, {.padding_begin = {1, 1}, .padding_end = {0, 2}});
  expect_conv({1, 32, 13, 12}, {64, 32, 3, 3}, {.strides = {2, 1}, .padding_begin = {1, 1}});
  expect_conv({1, 16, 15, 14}, {32, 16, 3, 3}, {.dilations = {2, 3}, .padding_begin = {2, 3}});
  expect_conv({1, 16, 13, 12}, {16, 16, 1, 1}, {.strides = {2, 2}});
}

TEST_P(OneDnnConvs, Groups) {
  expect_conv({2, 32, 9, 7}, {32, 1, 3, 3}, {.padding_begin = {1, 1}, .groups = 32});
  expect_conv({2, 64, 9, 7}, {64, 16, 3, 3}, {.strides = {2, 1}, .groups = 4});
  expect_conv({1, 12, 9, 7}, {24, 3, 3, 3}, {.groups = 4});
}

TEST_P(OneDnnConvs, PartsAlongEachAxis) {
  expect_conv({1, 64, 14, 13}, {96, 64, 3, 3}, {.padding_begin = {1, 1}});
  expect_conv({3, 32, 6, 5}, {64, 32, 3, 3});
}

/// Few filters, or filters that fill no blocks. Forward, such convolutions are divided by rows.
TEST_P(OneDnnConvs, BandsOfRows) {
  expect_conv({1, 24, 40, 40}, {20, 24, 3, 3}, {.padding_begin = {1, 1}});
  expect_conv({1, 24, 43, 40}, {20, 24, 3, 3});
  expect_conv({1, 16, 96, 33}, {3, 16, 5, 3}, {.strides = {2, 1}, .padding_begin = {2, 1}});
  expect_conv({2, 32, 60, 20}, {24, 32, 3, 3}, {.dilations = {2, 1}, .padding_begin = {3, 0}});
  expect_conv({1, 40, 5000}, {9, 40, 7}, {.padding_begin = {3}});
  expect_conv({1, 12, 24, 10, 9}, {20, 12, 3, 3, 3}, {.padding_begin = {1, 1, 1}});
  expect_conv({1, 24, 64, 32}, {16, 6, 3, 3}, {.padding_begin = {1, 1}, .groups = 4});
}

TEST_P(OneDnnConvs, ManyImages) {
  expect_conv({34, 16, 7, 6}, {16, 16, 3, 3});  // two rounds of 16 and one of 2, or two of 17
  expect_conv({37, 16, 5, 6}, {16, 16, 3, 3});  // a prime number of images
}

TEST_P(OneDnnConvs, OtherDTypesAndEmptyArraysAreLeftToProducts) {
  const auto conv_of = [&](const LibraryCall& call) {
    std::vector<OpaqueArray> inputs;
    for (const CallArray& input : call.inputs)
      inputs.push_back({.dtype = input.dtype, .shape = input.shape});
    const OpaqueArray output{.dtype = call.result.dtype, .shape = call.result.shape};
    OpaqueSizes sizes;
    sizes.inputs = inputs;
    sizes.outputs = {&output, 1};
    sizes.attributes = call.attributes;
    return onednn_conv(*library, conv_problem(GetParam(), sizes));
  };
  EXPECT_EQ(conv_of(conv_call(GetParam(), f64, {1, 16, 9}, {16, 16, 3})), nullptr);
  EXPECT_EQ(conv_of(conv_call(GetParam(), bf16, {1, 16, 9}, {16, 16, 3})), nullptr);
  EXPECT_EQ(conv_of(conv_call(GetParam(), f32, {0, 16, 9}, {16, 16, 3})), nullptr);
  const LibraryCall call = conv_call(GetParam(), f32, {1, 16, 9}, {16, 16, 3});
  EXPECT_NE(conv_of(call), nullptr);
  EXPECT_EQ(conv_of(call), conv_of(call));  // made once
}

INSTANTIATE_TEST_SUITE_P(Kinds, OneDnnConvs,
                         testing::Values(ConvKind::forward, ConvKind::data_gradient,
                                         ConvKind::weight_gradient),
                         [](const auto& kind) {
                           return kind.param == ConvKind::forward         ? "Forward"
                                  : kind.param == ConvKind::data_gradient ? "DataGradient"
                                                                          : "WeightGradient";
                         });

TEST(OneDnnConvChoice, LeavesOneTapAndFewChannelsToProducts) {
  const ConvProblem one_tap{.channels = 16, .filters = 16};
  ConvProblem taps = one_tap;
  taps.filter_size = {1, 3, 3};
  EXPECT_TRUE(is_faster_as_product(one_tap));
  EXPECT_FALSE(is_faster_as_product(taps));
  ConvProblem gradient = one_tap;
  gradient.kind = ConvKind::weight_gradient;
  EXPECT_TRUE(is_faster_as_product(gradient));
  gradient.kind = ConvKind::data_gradient;
  EXPECT_FALSE(is_faster_as_product(gradient));
  gradient.channels = 3;
  EXPECT_TRUE(is_faster_as_product(gradient));
  gradient.channels = gradient.groups = 4;
  EXPECT_FALSE(is_faster_as_product(gradient));
}

}  // namespace
}  // namespace sinter::test::onednn_conv_test
