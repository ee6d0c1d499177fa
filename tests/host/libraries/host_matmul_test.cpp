// Matrix products of the host device: values against sums in long doubles, for every dtype, layout
// and library.
#include "runtime/libraries/host/host_matmul.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/driver/host/execution/execute.h"
#include "runtime/libraries/matmul_function.h"
#include "tests/support/run/library_call.h"

namespace sinter::test::host_matmul_test {
namespace {

using testing::HasSubstr;

struct Types {
  DType a, b, result;
};

class HostMatmul : public testing::TestWithParam<Types> {
 protected:
  const Device device = host_device();
  const OpaqueFunction function = matmul_function();
};

/// Computes the product of a call with one library, as the function does.
std::vector<double> product_by(const std::string& library, const LibraryCall& call) {
  const HostBlasOrReason opened = open_host_blas(library);
  EXPECT_TRUE(opened.blas) << opened.reason;
  OpaqueFunction function = matmul_function();
  const auto problem_of = [](const OpaqueSizes& sizes) { return matmul_problem(sizes); };
  function.check = [](const OpaqueSizes&) {};
  function.workspace = [&](const OpaqueSizes& sizes) {
    return host_matmul_workspace(problem_of(sizes), *opened.blas);
  };
  function.enqueue = [&](const OpaqueCall& sizes) {
    host_matmul(
        problem_of(sizes),
        {.a = sizes.inputs[0].data, .b = sizes.inputs[1].data, .result = sizes.outputs[0].data},
        *opened.blas, {.data = sizes.workspace, .bytes = sizes.workspace_bytes});
    return 0;
  };
  return values_of(call.result.dtype, run_call(function, call, host_device()));
}

/// The libraries of this machine besides the loops.
std::vector<std::string> libraries() {
  std::vector<std::string> found;
  for (const char* const library : {"openblas", "onednn"})
    if (open_host_blas(library).blas) found.emplace_back(library);
  return found;
}

TEST_P(HostMatmul, EveryLayoutIsExactForSmallNumbers) {
  const auto [a, b, result] = GetParam();
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true}) {
      const LibraryCall call =
          matmul_call(small_numbers(a, transpose_a ? std::vector<std::int64_t>{29, 37}
                                                   : std::vector<std::int64_t>{37, 29}),
                      small_numbers(b,
                                    transpose_b ? std::vector<std::int64_t>{41, 29}
                                                : std::vector<std::int64_t>{29, 41},
                                    2),
                      result, {.transpose_a = transpose_a, .transpose_b = transpose_b});
      EXPECT_EQ(exact_difference(call, run_call(function, call, device), expected_product(call)),
                "")
          << transpose_a << transpose_b;
    }
}

TEST_P(HostMatmul, SumsLongerThanAPanelAreComplete) {
  const auto [a, b, result] = GetParam();
  const LibraryCall call =
      matmul_call(small_numbers(a, {5, 1300}), small_numbers(b, {1300, 7}, 2), result);
  EXPECT_EQ(exact_difference(call, run_call(function, call, device), expected_product(call)), "");
}

TEST_P(HostMatmul, RandomNumbersAreWithinTheErrorOfSums) {
  const auto [a, b, result] = GetParam();
  const LibraryCall call =
      matmul_call(random_numbers(a, {130, 301}), random_numbers(b, {301, 270}, 2), result);
  const auto bytes = run_call(function, call, device);
  EXPECT_EQ(result == i32 ? exact_difference(call, bytes, expected_product(call))
                          : difference(call, bytes, expected_product(call)),
            "");
  for (const int workers : {1, 3}) {
    host::set_workers(workers);
    EXPECT_EQ(run_call(function, call, device), bytes) << workers;
  }
  host::set_workers(0);
}

TEST_P(HostMatmul, EveryLibraryAgreesWithTheLoops) {
  const auto [a, b, result] = GetParam();
  const LibraryCall exact =
      matmul_call(small_numbers(a, {3, 67, 83}), small_numbers(b, {3, 19, 83}, 2), result,
                  {.transpose_b = true});
  const LibraryCall rounded =
      matmul_call(random_numbers(a, {67, 600}), random_numbers(b, {600, 300}, 2), result);
  for (const std::string& library : libraries()) {
    EXPECT_EQ(product_by(library, exact), product_by("loops", exact)) << library;
    const std::vector<double> left = product_by(library, rounded);
    const std::vector<double> right = product_by("loops", rounded);
    ASSERT_EQ(left.size(), right.size());
    const double relative = result == f16 ? 0x1p-10 : result == bf16 ? 0x1p-7 : 1e-5;
    for (std::size_t i = 0; i < left.size(); ++i)
      ASSERT_NEAR(left[i], right[i], relative * (1 + std::abs(right[i]))) << library << i;
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, HostMatmul,
                         testing::Values(Types{f32, f32, f32}, Types{f64, f64, f64},
                                         Types{f16, f16, f16}, Types{f16, f16, f32},
                                         Types{bf16, bf16, bf16}, Types{bf16, bf16, f32},
                                         Types{i8, i8, i32}, Types{f8e4m3, f8e4m3, bf16},
                                         Types{f8e5m2, f8e4m3, f16}, Types{f8e4m3, f8e5m2, f32},
                                         Types{f8e5m2, f8e5m2, f32}),
                         [](const auto& types) {
                           return std::string(name(types.param.a)) + "_" +
                                  std::string(name(types.param.b)) + "_" +
                                  std::string(name(types.param.result));
                         });

class HostMatmulShapes : public testing::Test {
 protected:
  void expect_product(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                      const MatmulSettings& settings = {}) {
    for (const DType dtype : {f32, bf16}) {
      const LibraryCall call =
          matmul_call(small_numbers(dtype, a), small_numbers(dtype, b, 2), dtype, settings);
      EXPECT_EQ(exact_difference(call, run_call(function, call, device), expected_product(call)),
                "")
          << testing::PrintToString(a) << testing::PrintToString(b);
    }
  }

  const Device device = host_device();
  const OpaqueFunction function = matmul_function();
};

TEST_F(HostMatmulShapes, LeadingAxesBroadcast) {
  expect_product({4, 6, 5}, {5, 3});
  expect_product({4, 6, 5}, {4, 5, 3});
  expect_product({6, 5}, {4, 5, 3});
  expect_product({1, 6, 5}, {4, 5, 3});
  expect_product({2, 1, 6, 5}, {3, 5, 4});
  expect_product({2, 3, 6, 5}, {2, 1, 5, 4});
  expect_product({2, 3, 6, 5}, {1, 3, 5, 4});
  expect_product({2, 1, 3, 6, 5}, {2, 1, 5, 4});
  expect_product({4, 5, 6}, {5, 3}, {.transpose_a = true});
  expect_product({4, 2, 5, 6}, {2, 3, 5}, {.transpose_a = true, .transpose_b = true});
}

TEST_F(HostMatmulShapes, ExtentsMayBeZeroOrOne) {
  expect_product({0, 5}, {5, 3});
  expect_product({4, 5}, {5, 0});
  expect_product({4, 0}, {0, 3});  // empty sums are 0
  expect_product({0, 4, 5}, {5, 3});
  expect_product({3, 4, 0}, {1, 0, 2});
  expect_product({1, 1}, {1, 1});
  expect_product({1, 700}, {700, 1});
  expect_product({1, 3}, {3, 600});
}

TEST_F(HostMatmulShapes, SumsOfI8Wrap) {
  const std::int64_t k = (std::int64_t{1} << 31) / (128 * 128) + 3;  // -128 squared, k times
  const CallArray ones{.dtype = i8, .shape = {1, k}, .values = std::vector<double>(k, -128)};
  const LibraryCall call = matmul_call(ones, ones, i32, {.transpose_b = true});
  const double wrapped = static_cast<double>(k * 128 * 128 - (std::int64_t{1} << 32));
  EXPECT_EQ(values_of(i32, run_call(function, call, device)), std::vector<double>{wrapped});
}

TEST_F(HostMatmulShapes, SpecialValuesSpread) {
  LibraryCall call = matmul_call(small_numbers(f16, {2, 3}), small_numbers(f16, {3, 2}, 2), f16);
  call.inputs[0].values = {INFINITY, 1, 1, NAN, 1, 1};
  call.inputs[1].values = {1, -1, 1, 1, 60000, 60000};
  const auto values = values_of(f16, run_call(function, call, device));
  EXPECT_EQ(values[0], INFINITY);
  EXPECT_EQ(values[1], -INFINITY);
  EXPECT_TRUE(std::isnan(values[2]) && std::isnan(values[3]));
  call.inputs[0].values = {1, 1, 1, 1, 1, 2};
  EXPECT_EQ(values_of(f16, run_call(function, call, device))[2], INFINITY);  // beyond 65504
}

TEST_F(HostMatmulShapes, DamagedCallsAreRefused) {
  LibraryCall call = matmul_call(small_numbers(f32, {2, 3}), small_numbers(f32, {3, 4}), f32);
  EXPECT_EQ(refusal_of(function, call, device), "");
  call.inputs[1] = small_numbers(f32, {4, 4});
  EXPECT_EQ(refusal_of(function, call, device),
            "f32[2, 3], f32[4, 4] do not give f32[2, 4]; save the program again");
  call = matmul_call(small_numbers(f32, {2, 2, 3}), small_numbers(f32, {2, 3, 4}), f32);
  call.result.shape = {3, 2, 4};
  EXPECT_THAT(refusal_of(function, call, device), HasSubstr("do not give f32[3, 2, 4]"));
}

}  // namespace
}  // namespace sinter::test::host_matmul_test
