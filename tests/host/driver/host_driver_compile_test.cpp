// The host compiler: its images and error messages, and the half types of the prelude, bit by bit.
#include "sinter/error.h"
#include "tests/host/driver/host_driver_fixture.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <unistd.h>

namespace sinter::host_driver_compile_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class HostDriverCompileTest : public HostDriverTest {
 protected:
  std::string compile_error(const HostCompiler& compiler, std::vector<HostKernel> kernels) {
    try {
      compiler.compile(prelude_text(Prelude::host), kernels);
    } catch (const CompileError& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
  /// Runs `statement` for each element of `values`, as `x` of type In, and returns all `y`.
  template <class In, class Out>
  std::vector<Out> map(const std::vector<In>& values, std::string_view in, std::string_view out,
                       std::string_view statement) {
    const std::string text = "extern \"C\" __global__ void map(const " + std::string(in) +
                             "* in, " + std::string(out) +
                             "* out, const int size) {\n"
                             "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "  if (i >= size) return;\n  const auto x = in[i];\n  " +
                             std::string(statement) + "\n}\n";
    const CUdeviceptr from = upload(values), to = allocate(values.size() * sizeof(Out));
    const int size = static_cast<int>(values.size());
    const Shape shape{.blocks = static_cast<unsigned>(size + 255) / 256, .threads = 256};
    check(driver, launch(function({.entry = "map", .text = text}), shape, from, to, size),
          "cuLaunchKernelEx", "a test");
    return download<Out>(to, values.size());
  }
};

/// The value of a half type's bits, with `fraction_bits` of fraction and exponent bias `bias`.
double value_of(std::uint16_t bits, int fraction_bits, int bias) {
  const int exponent = (bits & 0x7fff) >> fraction_bits;
  const double fraction = bits & ((1 << fraction_bits) - 1);
  const double one = 1 << fraction_bits;
  const double magnitude = exponent ? std::ldexp(1 + fraction / one, exponent - bias)
                                    : std::ldexp(fraction / one, 1 - bias);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/// Reference rounding by binary search: the nearest half, ties to even.
std::uint16_t nearest_half(double value, int fraction_bits, int bias) {
  const std::uint16_t infinity =
      static_cast<std::uint16_t>(0x7fff >> fraction_bits << fraction_bits);
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  std::uint16_t low = 0, high = infinity;  // value_of(infinity) is the next power of two
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (value_of(middle, fraction_bits, bias) <= magnitude ? low : high) = middle;
  }
  if (magnitude >= value_of(infinity, fraction_bits, bias)) return sign | infinity;
  const double halfway =
      (value_of(low, fraction_bits, bias) + value_of(high, fraction_bits, bias)) / 2;
  const bool is_up = magnitude > halfway || (magnitude == halfway && (low & 1));
  return sign | (is_up ? high : low);
}

constexpr int kF16Fraction = 10, kF16Bias = 15, kBf16Fraction = 7, kBf16Bias = 127;

/// Every half, the midpoints of neighbours and their adjacent values, and random values.
std::vector<double> interesting_values(int fraction_bits, int bias) {
  std::vector<double> values;
  for (unsigned bits = 0; bits < 0x7fffu >> fraction_bits << fraction_bits; bits += 1) {
    const double value = value_of(static_cast<std::uint16_t>(bits), fraction_bits, bias);
    const double next = value_of(static_cast<std::uint16_t>(bits + 1), fraction_bits, bias);
    const double middle = (value + next) / 2;
    for (double x : {value, middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e300)})
      values.insert(values.end(), {x, -x});
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const double x = std::bit_cast<double>(random());
    if (std::isfinite(x)) values.push_back(x);
  }
  return values;
}

TEST(HostMachineTest, TheCacheKeyNamesTheLevelOfTheProcessor) {
  EXPECT_TRUE(runs_host_machine(host_machine()));
  EXPECT_TRUE(runs_host_machine(portable_host_machine()));
  EXPECT_FALSE(runs_host_machine("x86-64-v9"));
#if defined(__x86_64__)
  EXPECT_TRUE(runs_host_machine("x86-64"));
  EXPECT_NE(portable_host_machine(), "x86-64-v4");
  EXPECT_THAT(HostCompiler().version(), HasSubstr(" -march=" + std::string(host_machine()) + " "));
#endif
}

TEST_F(HostDriverCompileTest, WidensEveryHalfExactly) {
  std::vector<std::uint16_t> halves(65536);
  for (unsigned i = 0; i < 65536; ++i) halves[i] = static_cast<std::uint16_t>(i);
  const auto f16 = map<std::uint16_t, float>(halves, "f16", "float", "out[i] = to_float(x);");
  const auto bf16 = map<std::uint16_t, float>(halves, "bf16", "float", "out[i] = to_float(x);");
  for (unsigned i = 0; i < 65536; ++i) {
    const bool is_infinite_f16 = (i & 0x7fff) == 0x7c00, is_nan_f16 = (i & 0x7fff) > 0x7c00;
    const bool is_nan_bf16 = (i & 0x7fff) > 0x7f80;
    ASSERT_EQ(std::isnan(f16[i]), is_nan_f16) << i;
    ASSERT_EQ(std::isinf(f16[i]), is_infinite_f16) << i;
    ASSERT_EQ(std::isnan(bf16[i]), is_nan_bf16) << i;
    if (std::isfinite(f16[i])) {
      ASSERT_EQ(f16[i], value_of(halves[i], kF16Fraction, kF16Bias)) << i;
    }
    if (std::isfinite(bf16[i])) {
      ASSERT_EQ(bf16[i], value_of(halves[i], kBf16Fraction, kBf16Bias)) << i;
    }
    ASSERT_EQ(std::signbit(f16[i]), i >= 0x8000) << i;
  }
}

TEST_F(HostDriverCompileTest, RoundsDoublesOnceToNearestEven) {
  const std::vector<double> f16_values = interesting_values(kF16Fraction, kF16Bias);
  const auto f16 = map<double, std::uint16_t>(f16_values, "double", "f16", "out[i] = to_f16(x);");
  for (std::size_t i = 0; i < f16.size(); ++i)
    ASSERT_EQ(f16[i], nearest_half(f16_values[i], kF16Fraction, kF16Bias)) << f16_values[i];

  const std::vector<double> bf16_values = interesting_values(kBf16Fraction, kBf16Bias);
  const auto bf16 =
      map<double, std::uint16_t>(bf16_values, "double", "bf16", "out[i] = to_bf16(x);");
  for (std::size_t i = 0; i < bf16.size(); ++i)
    ASSERT_EQ(bf16[i], nearest_half(bf16_values[i], kBf16Fraction, kBf16Bias)) << bf16_values[i];
}

TEST_F(HostDriverCompileTest, RoundsFloatsToNearestEven) {
  std::vector<float> values;
  for (const double value : interesting_values(kF16Fraction, kF16Bias))
    values.push_back(static_cast<float>(value));
  for (const double value : interesting_values(kBf16Fraction, kBf16Bias))
    values.push_back(static_cast<float>(value));
  const auto f16 = map<float, std::uint16_t>(values, "float", "f16", "out[i] = to_f16(x);");
  const auto bf16 = map<float, std::uint16_t>(values, "float", "bf16", "out[i] = to_bf16(x);");
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(f16[i], nearest_half(values[i], kF16Fraction, kF16Bias)) << values[i];
    ASSERT_EQ(bf16[i], nearest_half(values[i], kBf16Fraction, kBf16Bias)) << values[i];
  }
}

TEST_F(HostDriverCompileTest, KeepsNanAndInfinityInHalves) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {kNan, -kNan, kInfinity, -kInfinity};
  const auto f16 = map<double, std::uint16_t>(values, "double", "f16", "out[i] = to_f16(x);");
  const auto bf16 = map<double, std::uint16_t>(values, "double", "bf16", "out[i] = to_bf16(x);");
  EXPECT_GT(f16[0] & 0x7fff, 0x7c00);
  EXPECT_GT(f16[1] & 0x7fff, 0x7c00);
  EXPECT_EQ(f16[2], 0x7c00);
  EXPECT_EQ(f16[3], 0xfc00);
  EXPECT_GT(bf16[0] & 0x7fff, 0x7f80);
  EXPECT_EQ(bf16[2], 0x7f80);
  EXPECT_EQ(bf16[3], 0xff80);
}

TEST_F(HostDriverCompileTest, NeverContractsAMultiplyAndAnAdd) {
  const float x = 1.0f + 0x1p-12f;
  const auto y = map<float, float>({x}, "float", "float", "out[i] = x * x - (1.0f + 0x1p-11f);");
  EXPECT_EQ(y[0], 0.0f);  // a contracted multiply-add would give 2^-24
}

TEST_F(HostDriverCompileTest, WrapsIntegersThatOverflow) {
  const auto y = map<int, int>({2147483647}, "int", "int", "out[i] = x + 1 < x ? 1 : 0;");
  EXPECT_EQ(y[0], 1);
}

TEST_F(HostDriverCompileTest, ShowsNumberedSourceLinesOfErrors) {
  const HostKernel bad{.entry = "bad", .text = R"(extern "C" __global__ void bad(float* x) {
  const float sum = x[0] + bb[0];
  x[0] = sum;
}
)"};
  const HostCompiler compiler;
  const std::string message = compile_error(compiler, {increment_kernel(), bad});
  EXPECT_THAT(message,
              StartsWith("host compiler: sinter could not compile its own kernel bad (this "
                         "is a bug in sinter, please report it)\n"
                         "in bad:\n"
                         "   1 | extern \"C\" __global__ void bad(float* x) {\n"
                         "   2 |   const float sum = x[0] + bb[0];\n"
                         "   3 |   x[0] = sum;\n"
                         "error: "));
  EXPECT_THAT(message, AllOf(HasSubstr("bb"), HasSubstr("(line 2)"), HasSubstr("log:\n")));
}

TEST_F(HostDriverCompileTest, ReportsAMissingCompiler) {
  try {
    const HostCompiler compiler({.command = "no-such-compiler"});
    FAIL() << "nothing was thrown";
  } catch (const CompileError& error) {
    EXPECT_STREQ(error.what(),
                 "host compiler: no-such-compiler cannot be found; install g++ or set "
                 "SINTER_HOST_CXX to a C++ compiler");
  }
}

TEST_F(HostDriverCompileTest, StopsSlowCompilers) {
  const std::filesystem::path script =
      std::filesystem::temp_directory_path() / ("slow-compiler-" + std::to_string(getpid()));
  std::ofstream(script) << "#!/bin/sh\n[ \"$1\" = --version ] || sleep 100\necho slow 1.0\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const HostCompiler compiler(
      {.command = script.string(), .time_limit = std::chrono::milliseconds(300)});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(
      compile_error(compiler, {increment_kernel()}),
      "host compiler: 1 kernel, beginning with increment, took longer than 300 ms each; slow 1.0");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(50));
  std::filesystem::remove(script);
}

TEST_F(HostDriverCompileTest, VersionIncludesCompilerAndFlags) {
  const HostCompiler compiler;
  EXPECT_THAT(compiler.version(), AllOf(HasSubstr("-ffp-contract=off"), HasSubstr("-fwrapv")));
}

TEST_F(HostDriverCompileTest, BuildsWithEveryInstalledCompiler) {
  for (const char* command : {"g++", "clang++"}) {
    std::unique_ptr<HostCompiler> compiler;
    try {
      compiler = std::make_unique<HostCompiler>(HostCompiler::Options{.command = command});
    } catch (const CompileError&) {
      continue;  // not installed
    }
    const std::vector<HostKernel> kernels = {increment_kernel(),
                                             {.entry = "all",
                                              .text = R"(
extern "C" __global__ void all(float* x) {
  store(x, threadIdx.x, warp_xor(load(x, threadIdx.x), 1));
}
)",
                                              .has_barrier = true}};
    const HostImage image = compiler->compile(prelude_text(Prelude::host), kernels);
    EXPECT_GT(image.milliseconds, 0);
    CUmodule module = nullptr;
    ASSERT_EQ(driver.cuModuleLoadData(&module, image.image.data()), CUDA_SUCCESS);
    CUfunction kernel = nullptr;
    ASSERT_EQ(driver.cuModuleGetFunction(&kernel, module, "all"), CUDA_SUCCESS);
    std::vector<float> values(32);
    values[3] = 5.0f;
    const CUdeviceptr x = upload(values);
    ASSERT_EQ(launch(kernel, {.threads = 32}, x), CUDA_SUCCESS);
    EXPECT_EQ(download<float>(x, 32)[2], 5.0f) << command;
  }
}

TEST_F(HostDriverCompileTest, UnloadsModulesAndChecksImages) {
  const CUmodule module = load(increment_kernel());
  CUfunction kernel = nullptr;
  EXPECT_EQ(driver.cuModuleGetFunction(&kernel, module, "decrement"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(host::last_error(), "no kernel decrement in the module");
  ASSERT_EQ(driver.cuModuleGetFunction(&kernel, module, "increment"), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(kernel, {}, CUdeviceptr{0}, CUdeviceptr{0}, 0), CUDA_ERROR_INVALID_HANDLE);

  CUmodule other = nullptr;
  const char text[128] = "// PTX, say";
  EXPECT_EQ(driver.cuModuleLoadData(&other, text), CUDA_ERROR_INVALID_IMAGE);
}

}  // namespace
}  // namespace sinter::host_driver_compile_test
