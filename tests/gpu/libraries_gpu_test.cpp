// Matrix products by cuBLASLt and convolutions by cuDNN. Tests compare values with sums in long
// doubles, and bits of runs with those of CUDA Graphs. Unsupported calls are refused.
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/device/device_state.h"
#include "runtime/libraries/conv_function.h"
#include "runtime/libraries/cuda/cublaslt.h"
#include "runtime/libraries/cuda/cudnn.h"
#include "runtime/libraries/matmul_function.h"
#include "tests/support/files/errors.h"
#include "tests/support/run/library_call.h"

namespace sinter::test::libraries_gpu_test {
namespace {

using testing::HasSubstr;
using Shape = std::vector<std::int64_t>;

/// The relative error of a product whose operands are rounded to tf32.
constexpr double kTf32 = 0x1p-9;

class GpuMatmul : public testing::Test {
 protected:
  void SetUp() override {
    if (device.is_host()) GTEST_SKIP() << "there is no CUDA device";
    if (device.name().starts_with("virtual GPU"))
      GTEST_SKIP() << "NVIDIA's libraries do not run on the virtual GPU";
    if (!find_cublaslt().library) GTEST_SKIP() << find_cublaslt().reason;
  }

  /// Runs the call plainly twice and as a CUDA Graph. Returns the bytes, which must be equal.
  std::vector<std::byte> bytes_of(const LibraryCall& call, const CallOptions& options) {
    EXPECT_EQ(refusal_of(function, call, device), "");
    const auto bytes = run_call(function, call, device, options);
    EXPECT_EQ(run_call(function, call, device, options), bytes);
    EXPECT_EQ(run_call(function, call, device, {.as_graph = true, .offset = options.offset}),
              bytes);
    return bytes;
  }
  static std::string text_of(const LibraryCall& call) {
    return fmt::format("{} {} times {} {} to {}", name(call.inputs[0].dtype),
                       testing::PrintToString(call.inputs[0].shape), name(call.inputs[1].dtype),
                       testing::PrintToString(call.inputs[1].shape), name(call.result.dtype));
  }
  /// For small numbers and integers.
  void expect_exact(const LibraryCall& call, const CallOptions& options = {}) {
    SCOPED_TRACE(text_of(call));
    EXPECT_EQ(exact_difference(call, bytes_of(call, options), expected_product(call)), "");
  }
  void expect_close(const LibraryCall& call, double operand_error = 0,
                    const CallOptions& options = {}) {
    SCOPED_TRACE(text_of(call));
    EXPECT_EQ(difference(call, bytes_of(call, options), expected_product(call), operand_error), "");
  }

  const Device device = default_device();
  const OpaqueFunction function = matmul_function();
};

struct Types {
  DType a, b, result;
};

Shape matrix(std::int64_t rows, std::int64_t columns, bool is_transposed) {
  return is_transposed ? Shape{columns, rows} : Shape{rows, columns};
}

TEST_F(GpuMatmul, EveryLayoutOfFloats) {
  for (const auto [a, b, result] :
       {Types{f32, f32, f32}, Types{f64, f64, f64}, Types{f16, f16, f16}, Types{f16, f16, f32},
        Types{bf16, bf16, bf16}, Types{bf16, bf16, f32}})
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true}) {
        const MatmulSettings settings{.transpose_a = transpose_a, .transpose_b = transpose_b};
        expect_exact(matmul_call(small_numbers(a, matrix(37, 29, transpose_a)),
                                 small_numbers(b, matrix(29, 41, transpose_b), 2), result,
                                 settings));
        expect_close(matmul_call(random_numbers(a, matrix(136, 264, transpose_a)),
                                 random_numbers(b, matrix(264, 152, transpose_b), 2), result,
                                 settings));
      }
}

TEST_F(GpuMatmul, LeadingAxesBroadcast) {
  const std::pair<Shape, Shape> shapes[] = {
      {{4, 6, 5}, {5, 3}},       {{4, 6, 5}, {4, 5, 3}},         {{6, 5}, {4, 5, 3}},
      {{2, 1, 6, 5}, {3, 5, 4}}, {{2, 3, 6, 5}, {2, 1, 5, 4}},   {{2, 3, 6, 5}, {1, 3, 5, 4}},
      {{3, 16, 8}, {3, 8, 24}},  {{2, 3, 16, 8}, {2, 1, 8, 16}}, {{1, 8}, {8, 1}}};
  for (const DType dtype : {f32, f16, bf16, f64})
    for (const auto& [a, b] : shapes)
      expect_exact(matmul_call(small_numbers(dtype, a), small_numbers(dtype, b, 2), dtype));
}

/// cuBLASLt has no algorithms for a batch of 2^16 or more.
TEST_F(GpuMatmul, LargeBatches) {
  const std::int64_t count = 2 * 65536 + 3;
  for (const DType dtype : {f32, f16}) {
    expect_exact(matmul_call(small_numbers(dtype, {count, 2, 3}),
                             small_numbers(dtype, {count, 3, 1}, 2), dtype));
    expect_exact(matmul_call(small_numbers(dtype, {2, 1, 3, 2}),
                             small_numbers(dtype, {1, 65536, 3, 2}, 2), dtype,
                             {.transpose_a = true}));
  }
}

/// A library loads kernels at their first launch, which may be inside a capture.
TEST_F(GpuMatmul, TheFirstRunMayBeCaptured) {
  for (const DType dtype : {f32, f64, f16, bf16}) {
    const LibraryCall call =
        matmul_call(small_numbers(dtype, {91, 43}), small_numbers(dtype, {43, 57}, 2), dtype);
    const auto bytes = run_call(function, call, device, {.as_graph = true});
    EXPECT_EQ(exact_difference(call, bytes, expected_product(call)), "") << name(dtype);
  }
}

TEST_F(GpuMatmul, EmptySumsAreZero) {
  const std::pair<Shape, Shape> shapes[] = {{{4, 0}, {0, 3}}, {{2, 4, 0}, {2, 0, 3}}};
  for (const DType dtype : {f32, bf16})
    for (const auto& [a, b] : shapes)
      expect_exact(matmul_call(small_numbers(dtype, a), small_numbers(dtype, b), dtype));
  const LibraryCall empty =
      matmul_call(small_numbers(f32, {0, 4}), small_numbers(f32, {4, 3}), f32);
  EXPECT_TRUE(run_call(function, empty, device).empty());
}

TEST_F(GpuMatmul, ArraysMayBeLessAligned) {
  for (const DType dtype : {f32, f64, f16, bf16})
    for (const std::int64_t offset : {1, 2, 3})
      expect_close(
          matmul_call(random_numbers(dtype, {64, 72}), random_numbers(dtype, {72, 80}, 2), dtype),
          0, {.offset = offset});
}

/// The library may divide long sums among blocks. Their parts must be added in f32, and in order.
TEST_F(GpuMatmul, LongSumsRoundOnce) {
  for (const DType dtype : {f32, f16, bf16})
    expect_close(matmul_call(random_numbers(dtype, {32, 20000}),
                             random_numbers(dtype, {20000, 48}, 2), dtype));
}

TEST_F(GpuMatmul, Tf32IsUsedOnlyWhenAllowed) {
  LibraryCall call =
      matmul_call(random_numbers(f32, {256, 512}), random_numbers(f32, {512, 256}, 2), f32);
  const auto exact = run_call(function, call, device);
  EXPECT_EQ(difference(call, exact, expected_product(call)), "");
  call = matmul_call(call.inputs[0], call.inputs[1], f32, {.allow_tf32 = true});
  const auto rounded = run_call(function, call, device);
  EXPECT_EQ(difference(call, rounded, expected_product(call), kTf32), "");
  if (device.state()->target.compute_capability >= 80) {
    EXPECT_NE(rounded, exact);
  }
}

TEST_F(GpuMatmul, IntegersAreExact) {
  for (const Shape& a : {Shape{64, 128}, Shape{32, 16}, Shape{128, 4096}})
    expect_exact(matmul_call(random_numbers(i8, a), random_numbers(i8, {48, a[1]}, 2), i32,
                             {.transpose_b = true}));
}

/// Other layouts and sizes are either computed or refused with advice.
TEST_F(GpuMatmul, UnsupportedIntegersAreRefusedWithAdvice) {
  int refused = 0;
  for (const bool transpose_b : {false, true})
    for (const std::int64_t k : {64, 67})
      for (const std::int64_t n : {32, 33}) {
        const LibraryCall call = matmul_call(random_numbers(i8, {40, k}),
                                             random_numbers(i8, matrix(k, n, transpose_b), 2), i32,
                                             {.transpose_b = transpose_b});
        const std::string refusal = refusal_of(function, call, device);
        if (refusal.empty()) {
          expect_exact(call);
          continue;
        }
        ++refused;
        EXPECT_THAT(refusal, HasSubstr("operands of i8 need a [m, k] and b [n, k]"));
        printf("%s\n", refusal.c_str());
      }
  printf("%d of 8 products of i8 are refused\n", refused);
}

TEST_F(GpuMatmul, LessAlignedIntegersAreComputedOrRefusedWithAdvice) {
  const LibraryCall call = matmul_call(random_numbers(i8, {32, 64}),
                                       random_numbers(i8, {48, 64}, 2), i32, {.transpose_b = true});
  const std::string failure = error_of([&] {
    const auto bytes = run_call(function, call, device, {.offset = 1});
    EXPECT_EQ(exact_difference(call, bytes, expected_product(call)), "");
  });
  if (failure == "(nothing thrown)") return;
  EXPECT_THAT(failure, HasSubstr("the address of an operand or of the result is only a multiple of "
                                 "1: use multiples of 16"));
}

TEST_F(GpuMatmul, EightBitFloats) {
  if (device.state()->target.compute_capability < 89) GTEST_SKIP() << "the GPU has no f8";
  for (const auto& [a, b] :
       {std::pair{f8e4m3, f8e4m3}, std::pair{f8e4m3, f8e5m2}, std::pair{f8e5m2, f8e4m3}})
    for (const DType result : {bf16, f16, f32}) {
      expect_exact(matmul_call(small_numbers(a, {48, 64}), small_numbers(b, {80, 64}, 2), result,
                               {.transpose_b = true}));
      // Tensor cores keep fewer bits of the sums of f8 than f32 has.
      expect_close(matmul_call(random_numbers(a, {128, 512}), random_numbers(b, {256, 512}, 2),
                               result, {.transpose_b = true}),
                   0x1p-11);
    }
}

TEST_F(GpuMatmul, UnsupportedEightBitFloatsAreRefusedWithAdvice) {
  const auto refusal = [&](DType a, DType b, const Shape& b_shape, bool transpose_b) {
    return refusal_of(function,
                      matmul_call(small_numbers(a, {48, 64}), small_numbers(b, b_shape, 2), bf16,
                                  {.transpose_b = transpose_b}),
                      device);
  };
  EXPECT_THAT(refusal(f8e5m2, f8e5m2, {80, 64}, true),
              HasSubstr("it multiplies no two matrices of f8e5m2: make one operand f8e4m3"));
  EXPECT_THAT(refusal(f8e4m3, f8e4m3, {83, 64}, true), HasSubstr("with k and n multiples of 16"));
  if (device.state()->target.compute_capability < 100) {
    EXPECT_THAT(refusal(f8e4m3, f8e4m3, {64, 80}, false), HasSubstr("transpose_b, without"));
  }
}

class GpuConv : public testing::TestWithParam<ConvKind> {
 protected:
  void SetUp() override {
    if (device.is_host()) GTEST_SKIP() << "there is no CUDA device";
    if (device.name().starts_with("virtual GPU"))
      GTEST_SKIP() << "NVIDIA's libraries do not run on the virtual GPU";
    if (!find_cudnn().library) GTEST_SKIP() << find_cudnn().reason;
  }

  void expect_conv(DType dtype, const Shape& x, const Shape& w, const ConvSettings& settings = {},
                   const CallOptions& options = {}) {
    const LibraryCall call = conv_call(GetParam(), dtype, x, w, settings);
    const std::string what =
        fmt::format("{} {} {}", name(dtype), testing::PrintToString(x), testing::PrintToString(w));
    const std::string refusal = refusal_of(function, call, device);
    ASSERT_EQ(refusal, "") << what;
    const auto bytes = run_call(function, call, device, options);
    const double operand_error = settings.allow_tf32 && dtype == f32 ? kTf32 : 0;
    const auto expected = expected_conv(GetParam(), call);
    EXPECT_EQ(settings.is_exact ? exact_difference(call, bytes, expected)
                                : difference(call, bytes, expected, operand_error),
              "")
        << what;
    EXPECT_EQ(run_call(function, call, device, options), bytes) << what;
    EXPECT_EQ(run_call(function, call, device, {.as_graph = true, .offset = options.offset}), bytes)
        << what;
  }

  const Device device = default_device();
  const OpaqueFunction function = conv_function(GetParam());
};

constexpr DType kFloats[] = {f32, f16, bf16, f64};

TEST_P(GpuConv, OneToThreeAxes) {
  for (const DType dtype : kFloats) {
    expect_conv(dtype, {2, 3, 17}, {4, 3, 5});
    expect_conv(dtype, {2, 3, 9, 11}, {4, 3, 3, 2});
    expect_conv(dtype, {2, 2, 5, 6, 7}, {3, 2, 2, 3, 3});
  }
}

TEST_P(GpuConv, StridesDilationsAndPadding) {
  for (const DType dtype : kFloats) {
    expect_conv(dtype, {2, 8, 18}, {8, 8, 3}, {.strides = {3}, .padding_begin = {2}});
    expect_conv(dtype, {2, 8, 14, 15}, {16, 8, 3, 3}, {.padding_begin = {1, 1}});
    expect_conv(dtype, {2, 8, 14, 15}, {16, 8, 3, 3}, {.strides = {2, 2}, .padding_begin = {1, 1}});
    expect_conv(dtype, {2, 8, 14, 15}, {16, 8, 3, 3},
                {.dilations = {2, 2}, .padding_begin = {2, 2}});
  }
}

TEST_P(GpuConv, Groups) {
  for (const DType dtype : {f32, f16, bf16}) {
    expect_conv(dtype, {2, 6, 9, 7}, {4, 3, 3, 3}, {.padding_begin = {1, 1}, .groups = 2});
    expect_conv(dtype, {2, 16, 9, 7}, {16, 1, 3, 3}, {.padding_begin = {1, 1}, .groups = 16});
  }
}

TEST_P(GpuConv, LargerConvolutions) {
  for (const DType dtype : {f32, f16, bf16})
    expect_conv(dtype, {4, 32, 28, 28}, {64, 32, 3, 3},
                {.padding_begin = {1, 1}, .is_exact = false});
}

TEST_P(GpuConv, Tf32IsUsedOnlyWhenAllowed) {
  expect_conv(f32, {4, 32, 16, 16}, {32, 32, 3, 3}, {.is_exact = false});
  expect_conv(f32, {4, 32, 16, 16}, {32, 32, 3, 3}, {.allow_tf32 = true, .is_exact = false});
}

TEST_P(GpuConv, ArraysMayBeLessAligned) {
  for (const DType dtype : {f32, f16})
    for (const std::int64_t offset : {1, 2})
      expect_conv(dtype, {2, 8, 14, 15}, {16, 8, 3, 3}, {}, {.offset = offset});
}

TEST_P(GpuConv, TheFirstRunMayBeCaptured) {
  for (const DType dtype : kFloats) {
    const LibraryCall call = conv_call(GetParam(), dtype, {3, 5, 23, 19}, {7, 5, 4, 4});
    const auto bytes = run_call(function, call, device, {.as_graph = true});
    EXPECT_EQ(exact_difference(call, bytes, expected_conv(GetParam(), call)), "") << name(dtype);
  }
}

/// cuDNN permits no two threads to use a handle at a time.
TEST_P(GpuConv, ThreadsPlanAndRunAtOnce) {
  std::vector<std::string> wrong(4);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < wrong.size(); ++thread)
    threads.emplace_back([&, thread] {
      try {
        for (std::int64_t size = 6; size < 14; ++size) {
          const std::int64_t width = size + static_cast<std::int64_t>(thread);
          const LibraryCall call = conv_call(GetParam(), f32, {1, 4, size, width}, {4, 4, 3, 3});
          for (int i = 0; i < 3; ++i)
            wrong[thread] += exact_difference(call, run_call(function, call, device),
                                              expected_conv(GetParam(), call));
        }
      } catch (const std::exception& error) {
        wrong[thread] += error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(""));
}

TEST_P(GpuConv, EmptySumsAreZero) {
  const LibraryCall call = conv_call(GetParam(), f32, {2, 0, 9}, {3, 0, 3});
  EXPECT_EQ(difference(call, run_call(function, call, device), expected_conv(GetParam(), call)),
            "");
}

TEST_P(GpuConv, UnequalPaddingIsComputedOrRefusedWithAdvice) {
  const ConvSettings settings{.padding_begin = {0, 0}, .padding_end = {1, 1}};
  const LibraryCall call = conv_call(GetParam(), f16, {2, 8, 14, 14}, {16, 8, 3, 3}, settings);
  const std::string refusal = refusal_of(function, call, device);
  if (refusal.empty()) return expect_conv(f16, {2, 8, 14, 14}, {16, 8, 3, 3}, settings);
  EXPECT_THAT(refusal, HasSubstr("pad x with the op pad instead"));
  printf("%s\n", refusal.c_str());
}

INSTANTIATE_TEST_SUITE_P(Kinds, GpuConv,
                         testing::Values(ConvKind::forward, ConvKind::data_gradient,
                                         ConvKind::weight_gradient),
                         [](const auto& kind) {
                           return kind.param == ConvKind::forward         ? "Forward"
                                  : kind.param == ConvKind::data_gradient ? "DataGradient"
                                                                          : "WeightGradient";
                         });

}  // namespace
}  // namespace sinter::test::libraries_gpu_test
