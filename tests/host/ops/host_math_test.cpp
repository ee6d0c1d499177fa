// The f32 functions of the host device (codegen/device/host_math). They have the documented errors,
// the same bits in vector code and alone, and no calls in loops.
#include "codegen/prelude/select_prelude.h"
#include "ir/record/record.h"
#include "runtime/compile/host_compiler.h"
#include "runtime/support/atomic_file.h"
#include "runtime/support/process.h"
#include "sinter/saved.h"
#include "tests/support/files/scratch_folder.h"
#include "tests/support/run/run.h"

#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::host_math_test {
namespace {

using Floats = std::vector<float>;

/// A function of the op table that host_math has.
struct Function {
  const char* op;
  double (*reference)(double);
  double worst;  // ulp; codegen/README.md has the same table
};

constexpr Function kFunctions[] = {
    {"exp", [](double x) { return std::exp(x); }, 1.05},
    {"exp2", [](double x) { return std::exp2(x); }, 1.05},
    {"expm1", [](double x) { return std::expm1(x); }, 1.65},
    {"log", [](double x) { return std::log(x); }, 0.92},
    {"log2", [](double x) { return std::log2(x); }, 1.1},
    {"log10", [](double x) { return std::log10(x); }, 0.95},
    {"log1p", [](double x) { return std::log1p(x); }, 0.9},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1.5},
    {"sin", [](double x) { return std::sin(x); }, 1.6},
    {"cos", [](double x) { return std::cos(x); }, 1.6},
    {"tan", [](double x) { return std::tan(x); }, 0.8},
    {"asin", [](double x) { return std::asin(x); }, 0.51},
    {"acos", [](double x) { return std::acos(x); }, 0.51},
    {"atan", [](double x) { return std::atan(x); }, 0.51},
    {"sinh", [](double x) { return std::sinh(x); }, 0.51},
    {"cosh", [](double x) { return std::cosh(x); }, 0.51},
    {"tanh", [](double x) { return std::tanh(x); }, 2.55},
    {"asinh", [](double x) { return std::asinh(x); }, 0.51},
    {"acosh", [](double x) { return std::acosh(x); }, 0.51},
    {"atanh", [](double x) { return std::atanh(x); }, 0.51},
    {"cbrt", [](double x) { return std::cbrt(x); }, 0.51},
    {"erf", [](double x) { return std::erf(x); }, 0.95},
    {"erfc", [](double x) { return std::erfc(x); }, 4.8},
};

constexpr std::int64_t kElements = (1 << 19) + 5;  // ends with a part of a vector

/// Numbers of all exponents and signs: bit patterns at equal distances.
Floats numbers_of_all_sizes(std::uint32_t first, std::uint32_t step) {
  Floats values(kElements);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::bit_cast<float>(first + static_cast<std::uint32_t>(i) * step);
  return values;
}

const OpInfo& row_of(std::string_view op) {
  return *std::ranges::find(op_table(), op, &OpInfo::name);
}

enum class Build {
  optimized,  // vector code of this machine
  plain,      // no vector code
  saved,      // vector code of a saved file, for older machines too
};

/// One program that computes all functions of x, and atan2, hypot and pow of x and z.
std::vector<Floats> run_all(const Floats& x, const Floats& z, Build build) {
  Graph graph("functions");
  const Tensor a = graph.input("x", f32, {kElements});
  const Tensor b = graph.input("z", f32, {kElements});
  const Device device = host_device();
  const Stream stream = device.stream();
  std::vector<Array> arrays = {device.empty(f32, {kElements}), device.empty(f32, {kElements})};
  device.upload(arrays[0], x, stream);
  device.upload(arrays[1], z, stream);
  std::vector<std::string> names;
  const auto add_output = [&](const char* op, const Tensor& value) {
    names.push_back(fmt::format("y_{}", op));
    graph.output(names.back(), value);
    arrays.push_back(device.empty(f32, {kElements}));
  };
  for (const Function& function : kFunctions) {
    const Operand operand = a;
    add_output(function.op, record_elementwise(row_of(function.op).op, {&operand, 1}));
  }
  add_output("atan2", atan2(a, b));
  add_output("hypot", hypot(a, b));
  add_output("pow", pow(a, b));
  std::vector<Binding> outputs;
  for (std::size_t i = 0; i < names.size(); ++i) outputs.emplace_back(names[i], arrays[i + 2]);
  Executable executable =
      compile(graph, device, {.tune = Tune::off, .optimize_host = build != Build::plain});
  if (build == Build::saved) {
    const ScratchFolder folder;
    executable.prepare({});
    executable.save(folder.path() + "/functions.sinterx");
    executable = load(folder.path() + "/functions.sinterx", device);
  }
  Context context = executable.context();
  context.run(stream, context.bind({{"x", arrays[0]}, {"z", arrays[1]}}, outputs));
  std::vector<Floats> results;
  for (std::size_t i = 2; i < arrays.size(); ++i)
    results.push_back(device.download<float>(arrays[i], stream));
  return results;
}

/// The error in units in the last place of f32 at `exact`. 0 for two NaN and for equal
/// infinities; infinite if only one of both is.
double error_in_ulps(float result, double exact) {
  const auto nearest = static_cast<float>(exact);
  if (std::isnan(result) || std::isnan(nearest))
    return std::isnan(result) == std::isnan(nearest) ? 0 : std::numeric_limits<double>::infinity();
  if (std::signbit(result) != std::signbit(nearest)) return std::numeric_limits<double>::infinity();
  if (result == nearest && (std::isinf(nearest) || exact == 0)) return 0;
  return std::fabs(result - exact) / std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23);
}

TEST(HostMath, FunctionsHaveTheDocumentedErrorsOnNumbersOfAllSizes) {
  const Floats x = numbers_of_all_sizes(0x80000000u, 8191);
  const std::vector<Floats> results = run_all(x, x, Build::optimized);
  for (std::size_t f = 0; f < std::size(kFunctions); ++f) {
    const Function& function = kFunctions[f];
    double worst = 0;
    float at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = error_in_ulps(results[f][i], function.reference(x[i]));
      if (error > worst) at = x[i];
      worst = std::max(worst, error);
    }
    EXPECT_LE(worst, function.worst) << function.op << "(" << at << ")";
    EXPECT_LE(function.worst, row_of(function.op).ulp) << function.op;
  }
}

TEST(HostMath, FunctionsOfTwoNumbersAreRoundedOnceAndHaveTheSpecialValuesOfC) {
  Floats x = numbers_of_all_sizes(0, 8191);
  Floats z(x.size());
  for (std::size_t i = 0; i < z.size(); ++i)
    z[i] = i % 3 == 0
               ? static_cast<float>(static_cast<int>(i / 3 % 41) - 20)
               : 100 * std::sin(static_cast<float>(i)) / (1 + std::fabs(std::log(std::fabs(x[i]))));
  const float infinity = std::numeric_limits<float>::infinity();
  const Floats special = {0.0F,  -0.0F,       1.0F,        -1.0F,    2.0F,      -2.0F,
                          3.0F,  -3.0F,       0.5F,        -0.5F,    1e-40F,    -1e-40F,
                          3e38F, 16777215.0F, 16777216.0F, infinity, -infinity, std::nanf("")};
  std::size_t at = 0;
  for (const float a : special)
    for (const float b : special) x[at] = a, z[at] = b, ++at;
  const std::vector<Floats> results = run_all(x, z, Build::optimized);
  double (*const references[])(double, double) = {std::atan2, std::hypot, std::pow};
  for (std::size_t f = 0; f < 3; ++f) {
    const Floats& result = results[std::size(kFunctions) + f];
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = error_in_ulps(result[i], references[f](x[i], z[i]));
      ASSERT_LT(error, 0.51) << "function " << f << " of " << x[i] << " and " << z[i] << " gave "
                             << result[i];
      worst = std::max(worst, error);
    }
    EXPECT_GT(worst, 0.49);  // the sample is dense enough to find halfway cases
  }
}

void expect_equal_bits(const std::vector<Floats>& results, const std::vector<Floats>& others) {
  const Floats& x = results[0];
  for (std::size_t f = 0; f < results.size(); ++f)
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(std::bit_cast<std::uint32_t>(results[f][i]) ==
                      std::bit_cast<std::uint32_t>(others[f][i]) ||
                  (std::isnan(results[f][i]) && std::isnan(others[f][i])))
          << "output " << f << ", element " << i << ": " << results[f][i] << ", " << others[f][i];
}

/// Otherwise results would depend on the place of an element in an array, or on the processor.
TEST(HostMath, VectorCodeHasTheBitsOfCodeWithoutVectorsAndOfOtherProcessors) {
  const Floats x = numbers_of_all_sizes(12345, 8191);
  const Floats z = numbers_of_all_sizes(0x3f000000u, 77);
  const std::vector<Floats> results = run_all(x, z, Build::optimized);
  expect_equal_bits(results, run_all(x, z, Build::plain));
  expect_equal_bits(results, run_all(x, z, Build::saved));
}

#if defined(__x86_64__)

/// Compiles a kernel and its prelude in a folder of the test, with the flags of the host device.
/// `machine` replaces the instruction set if it is not empty. Gives the folder and the output.
std::pair<std::string, std::string> compile_kernel(const std::string& kernel,
                                                   const std::string& machine,
                                                   std::initializer_list<const char*> more) {
  const std::string_view text = kernel;
  const std::string folder =
      (std::filesystem::path(testing::TempDir()) /
       fmt::format("host_math_{}", testing::UnitTest::GetInstance()->current_test_info()->name()))
          .string();
  std::filesystem::create_directories(folder);
  const std::string unit = prelude_for({&text, 1}, Prelude::host) + kernel;
  EXPECT_EQ(write_whole_file(folder + "/kernel.cpp", bytes_of(unit), Durability::process), 0);
  std::vector<std::string> arguments = {find_host_compiler()};
  const HostCompiler compiler;
  std::istringstream words(compiler.version().substr(compiler.name().size()));
  for (std::string word; words >> word;)
    arguments.push_back(word.starts_with("-march=") && !machine.empty() ? "-march=" + machine
                                                                        : word);
  arguments.insert(arguments.end(), more.begin(), more.end());
  const ProcessResult result = run_process(arguments, folder, std::chrono::minutes(1));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return {folder, result.output};
}

/// A loop over `expression` of x[i], as assembly text. Empty if the host compiler is not GCC.
std::string assembly_of(const std::string& from, const std::string& to,
                        const std::string& expression) {
  if (HostCompiler().name().find("clang") != std::string::npos) return {};
  const std::string kernel = fmt::format(
      "extern \"C\" __attribute__((visibility(\"default\"))) void loop(const {}* __restrict__ x, "
      "{}* __restrict__ y) {{\n  for (int i = 0; i < 256; ++i) y[i] = {};\n}}\n",
      from, to, expression);
  const std::string output = compile_kernel(kernel, "", {"-S", "-o", "-", "kernel.cpp"}).second;
  const std::size_t begin = output.find("\nloop:");
  return output.substr(begin, output.find(".size\tloop", begin) - begin);
}

void expect_vector_code(const std::string& from, const std::string& to,
                        const std::string& expression) {
  const std::string assembly = assembly_of(from, to, expression);
  if (assembly.empty()) GTEST_SKIP() << "the host compiler is not GCC";
  EXPECT_THAT(assembly, testing::Not(testing::HasSubstr("call"))) << expression;
  EXPECT_THAT(assembly, testing::ContainsRegex("%[xyz]mm")) << expression;
  // Scalar float arithmetic and single conversions end with ss; a loop without vectors has them.
  EXPECT_THAT(assembly, testing::Not(testing::ContainsRegex("(mul|add|sub)s[sd]\t"))) << expression;
}

TEST(HostMath, LoopsOverFunctionsAreVectorCode) {
  for (const Function& function : kFunctions)
    expect_vector_code("float", "float", fmt::format("{}f(x[i])", function.op));
  for (const char* function : {"powf", "atan2f", "hypotf"})
    expect_vector_code("float", "float", fmt::format("{}(x[i], opaque_value(2.5f))", function));
  expect_vector_code("float", "float", "0.5f * x[i] * erfcf(x[i] * -0.70710678f)");
  expect_vector_code("float", "float", "maximum(x[i], 0.5f) + minimum(x[i], 2.0f)");
}

TEST(HostMath, LoopsOverConversionsAreVectorCode) {
  for (const char* type : {"bf16", "f16", "f8e4m3", "f8e5m2"}) {
    expect_vector_code(type, "float", "from_memory(x[i]) * 3.0f");
    expect_vector_code("float", type, fmt::format("to_memory<{}>(x[i] * 3.0f)", type));
    expect_vector_code(type, type, fmt::format("to_memory<{}>(expf(from_memory(x[i])))", type));
  }
}

/// The results of all functions of one number, by code for `machine`.
Floats results_of_code_for(const std::string& machine, const Floats& x) {
  std::string loops;
  for (const Function& function : kFunctions)
    loops +=
        fmt::format("  for (int i = 0; i < n; ++i) y[i] = {}f(x[i]);\n  y += n;\n", function.op);
  const std::string folder =
      compile_kernel(fmt::format("extern \"C\" __attribute__((visibility(\"default\"))) void loops("
                                 "const float* __restrict__ x, float* __restrict__ y, int n) "
                                 "{{\n{}}}\n",
                                 loops),
                     machine, {"-o", "kernel.so", "kernel.cpp", "-lm", "-lc", "-lgcc"})
          .first;
  void* const library = dlopen((folder + "/kernel.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  Floats results(std::size(kFunctions) * x.size());
  if (library == nullptr) {
    ADD_FAILURE() << dlerror();
    return results;
  }
  reinterpret_cast<void (*)(const float*, float*, int)>(dlsym(library, "loops"))(
      x.data(), results.data(), static_cast<int>(x.size()));
  dlclose(library);
  return results;
}

/// Level x86-64 has no fused multiply-add instruction, so that its code calls the C library.
TEST(HostMath, CodeForProcessorsWithoutFusedMultiplyAddHasTheSameBits) {
  Floats x = numbers_of_all_sizes(777, 8191);
  x.resize(1 << 17);
  for (std::size_t i = 0; i < x.size(); i += 2)
    x[i] = 20 * std::sin(static_cast<float>(i)) * std::sin(0.37F * static_cast<float>(i));
  const Floats results = results_of_code_for("", x), others = results_of_code_for("x86-64", x);
  for (std::size_t i = 0; i < results.size(); ++i)
    ASSERT_TRUE(std::bit_cast<std::uint32_t>(results[i]) ==
                    std::bit_cast<std::uint32_t>(others[i]) ||
                (std::isnan(results[i]) && std::isnan(others[i])))
        << kFunctions[i / x.size()].op << "(" << x[i % x.size()] << "): " << results[i] << ", "
        << others[i];
}

#endif

}  // namespace
}  // namespace sinter::test::host_math_test
