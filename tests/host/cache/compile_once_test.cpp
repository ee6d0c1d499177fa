// A program of many layers compiles the code of each distinct kernel once. The number of layers and
// the names of values do not matter.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/compile_service/compile_service.h"
#include "runtime/device/device_state.h"
#include "runtime/driver/host/host_driver.h"
#include "sinter/text.h"
#include "tests/support/graphs/patterns.h"

namespace sinter::test::compile_once_test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/patterns";
const Options kQuick = {.tune = Tune::off, .optimize_host = false};

/// The functions of `source`, kernels included, without comments.
std::vector<std::string> functions_of(std::string_view source) {
  std::vector<std::string> functions;
  bool is_inside = false;
  for (std::size_t begin = 0; begin < source.size();) {
    const std::size_t end = std::min(source.find('\n', begin), source.size());
    const std::string_view line = source.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("static __device__") || line.starts_with("extern \"C\"")) {
      functions.emplace_back();
      is_inside = true;
    }
    if (is_inside) functions.back() += std::string(line) + "\n";
    if (line == "}") is_inside = false;
  }
  return functions;
}

/// `text` with names numbered in the order in which they first occur.
std::string without_names(std::string_view text) {
  std::map<std::string, std::size_t> numbers;
  std::string result;
  const auto is_letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_letter(text[end])) ++end;
    if (end == at || std::isdigit(static_cast<unsigned char>(text[at])) != 0) {
      end = std::max(end, at + 1);
      result += text.substr(at, end - at);
    } else {
      const std::string name(text.substr(at, end - at));
      result += "n" + std::to_string(numbers.try_emplace(name, numbers.size()).first->second);
    }
    at = end;
  }
  return result;
}

TEST(CompileOnce, NormalisedCodeIgnoresNames) {
  EXPECT_EQ(without_names("a1 = b + a1 * 2;"), without_names("x = y_2 + x * 2;"));
  EXPECT_NE(without_names("a = b + a * 2;"), without_names("x = y + y * 2;"));
  EXPECT_NE(without_names("a = b + a * 2;"), without_names("a = b + a * 3;"));
}

/// Twelve layers in one graph. The values of each layer have different names.
TEST(CompileOnce, SharesKernelsOfTwelveLayersInOneProgram) {
  const Pattern pattern =
      small_pattern(patterns_in(std::string(kFolder) + "/transformer.sinter").front());
  ASSERT_EQ(pattern.layers, 12);
  DeviceState device(host::host_driver(), 0);
  device.target = pattern.target();
  const auto prepare = [&] {
    const Executable executable = compile(pattern.graph(), Device(&device), kQuick);
    executable.prepare(pattern.named_sizes());
    return executable.report();
  };
  const Report report = prepare();
  std::size_t sections = 0;
  std::vector<std::string> functions;
  std::set<std::string> kernels;
  std::set<std::string> distinct;
  for (const KernelReport& kernel : report.kernels) {
    kernels.insert(kernel.source);
    sections += kernel.sections.size();
    for (const std::string& function : functions_of(kernel.source)) {
      functions.push_back(function);
      distinct.insert(without_names(function));
    }
  }
  EXPECT_GE(sections, 24u);
  EXPECT_LT(functions.size(), sections);
  EXPECT_EQ(distinct.size(), functions.size()) << "some code is there twice";
  const auto count = static_cast<std::int64_t>(kernels.size());
  EXPECT_EQ(device.compile_service.get(device).counters().misses, count);
  EXPECT_EQ(device.compile_service.get(device).counters().hits,
            static_cast<std::int64_t>(report.kernels.size()) - count);

  const std::int64_t compiles = device.compile_service.get(device).counters().compiles;
  prepare();
  EXPECT_EQ(device.compile_service.get(device).counters().misses, count);
  EXPECT_EQ(device.compile_service.get(device).counters().compiles, compiles);
}

/// One layer, in which every name begins with `prefix`.
Graph layer_called(const std::string& prefix) {
  std::string text = R"(graph $layer($x: f32[$rows, 64], $w: f32[64], $gate: f32[$rows, 96]) {
  $s = sum $x {axes = [0], keep = true}
  $y = mul $x, $s
  $z = rms_norm $y, $w
  $g = silu $gate
  return $z, $g
})";
  for (std::size_t at = text.find('$'); at != text.npos; at = text.find('$', at))
    text.replace(at, 1, prefix);
  return parse(text);
}

/// Twelve programs of one layer each, with different names.
TEST(CompileOnce, SharesKernelsOfTwelvePrograms) {
  DeviceState device(host::host_driver(), 0);
  std::vector<Executable> layers;
  for (int i = 0; i < 12; ++i) {
    const std::string prefix = "layer_" + std::to_string(i) + "_";
    layers.push_back(compile(layer_called(prefix), Device(&device), kQuick));
    layers.back().prepare({{prefix + "rows", 4096}});
  }
  std::set<std::string> kernels;
  for (const KernelReport& kernel : layers.front().report().kernels) kernels.insert(kernel.source);
  const auto count = static_cast<std::int64_t>(kernels.size());
  EXPECT_EQ(device.compile_service.get(device).counters().misses, count);
  EXPECT_EQ(device.compile_service.get(device).counters().hits,
            12 * static_cast<std::int64_t>(layers.front().report().kernels.size()) - count);
  EXPECT_LE(device.compile_service.get(device).counters().compiles, count);
}

}  // namespace
}  // namespace sinter::test::compile_once_test
