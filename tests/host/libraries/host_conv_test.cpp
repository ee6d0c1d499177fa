// Convolutions of the host device and their gradients: values against sums from the definition.
#include "runtime/libraries/host/host_conv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/driver/host/execution/execute.h"
#include "runtime/libraries/conv_function.h"
#include "tests/support/run/library_call.h"

namespace sinter::test::host_conv_test {
namespace {

using Shape = std::vector<std::int64_t>;

class HostConv : public testing::TestWithParam<ConvKind> {
 protected:
  void expect_conv(const Shape& x, const Shape& w, const ConvSettings& settings = {}) {
    for (const DType dtype : {f32, f64, f16, bf16}) {
      const LibraryCall call = conv_call(GetParam(), dtype, x, w, settings);
      EXPECT_EQ(
          exact_difference(call, run_call(function, call, device), expected_conv(GetParam(), call)),
          "")
          << name(dtype) << testing::PrintToString(x) << testing::PrintToString(w);
    }
  }

  const Device device = host_device();
  const OpaqueFunction function = conv_function(GetParam());
};

TEST_P(HostConv, OneToThreeAxes) {
  expect_conv({2, 3, 17}, {4, 3, 5});
  expect_conv({2, 3, 9, 11}, {4, 3, 3, 2});
  expect_conv({2, 2, 5, 6, 7}, {3, 2, 2, 3, 3});
}

TEST_P(HostConv, Padding) {
  expect_conv({1, 2, 9, 8}, {3, 2, 3, 3}, {.padding_begin = {1, 1}});
  expect_conv({1, 2, 9, 8}, {3, 2, 3, 3}, {.padding_begin = {2, 0}, .padding_end = {0, 3}});
  expect_conv({2, 2, 3}, {3, 2, 3}, {.padding_begin = {5}, .padding_end = {4}});
}

TEST_P(HostConv, StridesAndDilations) {
  expect_conv({2, 3, 17}, {4, 3, 5}, {.strides = {2}});
  expect_conv({2, 3, 18}, {4, 3, 3}, {.strides = {3}, .dilations = {2}, .padding_begin = {2}});
  expect_conv({1, 2, 11, 13}, {3, 2, 3, 3}, {.strides = {2, 3}, .padding_begin = {1, 1}});
  expect_conv({1, 2, 11, 13}, {3, 2, 3, 2}, {.dilations = {2, 4}, .padding_begin = {2, 0}});
  expect_conv({1, 2, 12, 13}, {3, 2, 3, 2}, {.strides = {2, 2}, .dilations = {2, 4}});
  expect_conv({1, 1, 6, 7, 8}, {2, 1, 2, 1, 3},
              {.strides = {2, 1, 3}, .dilations = {1, 3, 2}, .padding_begin = {0, 1, 2}});
  // Strides beyond the filter: some positions have no gradient.
  expect_conv({1, 2, 13, 12}, {3, 2, 2, 1}, {.strides = {4, 3}});
  expect_conv({1, 2, 3}, {3, 2, 1}, {.strides = {7}});
}

TEST_P(HostConv, Groups) {
  expect_conv({2, 6, 9, 7}, {4, 3, 3, 3}, {.padding_begin = {1, 1}, .groups = 2});
  expect_conv({2, 6, 9, 7}, {6, 1, 3, 3}, {.strides = {2, 1}, .groups = 6});
  expect_conv({2, 4, 15}, {8, 1, 4}, {.groups = 4});
}

TEST_P(HostConv, LargerThanATile) {
  expect_conv({2, 40, 20, 21}, {140, 40, 3, 3}, {.strides = {1, 2}, .padding_begin = {1, 1}});
  expect_conv({3, 5, 700}, {4, 5, 1});
}

TEST_P(HostConv, EmptyExtents) {
  expect_conv({0, 2, 9}, {3, 2, 3});
  expect_conv({2, 0, 9}, {3, 0, 3});  // empty sums are 0
  expect_conv({2, 2, 9}, {0, 2, 3});
}

TEST_P(HostConv, RandomNumbersAreWithinTheErrorOfSumsAndRepeat) {
  for (const DType dtype : {f32, f64, f16, bf16}) {
    const LibraryCall call =
        conv_call(GetParam(), dtype, {3, 20, 15, 14}, {24, 10, 3, 3},
                  {.strides = {2, 1}, .padding_begin = {1, 1}, .groups = 2, .is_exact = false});
    const auto bytes = run_call(function, call, device);
    EXPECT_EQ(difference(call, bytes, expected_conv(GetParam(), call)), "") << name(dtype);
    for (const int workers : {1, 3}) {
      host::set_workers(workers);
      EXPECT_EQ(run_call(function, call, device), bytes) << workers;
    }
    host::set_workers(0);
  }
}

TEST_P(HostConv, DamagedCallsAreRefused) {
  LibraryCall call = conv_call(GetParam(), f32, {1, 2, 9, 8}, {3, 2, 3, 3});
  EXPECT_EQ(refusal_of(function, call, device), "");
  call.attributes[0].integers = {2, 2};
  EXPECT_THAT(refusal_of(function, call, device),
              testing::EndsWith("do not fit the options; save the program again"));
  call = conv_call(GetParam(), f32, {1, 2, 9, 8}, {3, 2, 3, 3});
  call.attributes[1].integers = {1};
  EXPECT_NE(refusal_of(function, call, device), "");
  call = conv_call(GetParam(), f32, {1, 2, 9, 8}, {3, 2, 3, 3});
  call.attributes[4] = {"groups", 2};
  EXPECT_NE(refusal_of(function, call, device), "");
}

INSTANTIATE_TEST_SUITE_P(Kinds, HostConv,
                         testing::Values(ConvKind::forward, ConvKind::data_gradient,
                                         ConvKind::weight_gradient),
                         [](const auto& kind) {
                           return kind.param == ConvKind::forward         ? "Forward"
                                  : kind.param == ConvKind::data_gradient ? "DataGradient"
                                                                          : "WeightGradient";
                         });

/// The loops and each BLAS of this machine compute the same sums.
TEST(HostConvLibraries, AgreeWithTheLoops) {
  const auto by = [](const std::string& library, const LibraryCall& call) {
    const HostBlas& blas = *open_host_blas(library).blas;
    OpaqueFunction function = conv_function(ConvKind::forward);
    function.workspace = [&](const OpaqueSizes& sizes) {
      return host_conv_workspace(conv_problem(ConvKind::forward, sizes), blas);
    };
    function.enqueue = [&](const OpaqueCall& sizes) {
      host_conv(conv_problem(ConvKind::forward, sizes),
                {.x = sizes.inputs[0].data, .w = sizes.inputs[1].data, .y = sizes.outputs[0].data},
                blas, {.data = sizes.workspace, .bytes = sizes.workspace_bytes});
      return 0;
    };
    return run_call(function, call, host_device());
  };
  for (const DType dtype : {f32, f64, f16}) {
    const LibraryCall call = conv_call(ConvKind::forward, dtype, {2, 7, 19, 23}, {9, 7, 3, 5},
                                       {.padding_begin = {1, 2}});
    for (const char* const library : {"openblas", "onednn"})
      if (open_host_blas(library).blas) {
        EXPECT_EQ(by(library, call), by("loops", call)) << library << name(dtype);
      }
  }
}

}  // namespace
}  // namespace sinter::test::host_conv_test
