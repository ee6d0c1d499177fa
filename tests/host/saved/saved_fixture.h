// Fixture of the saved executable tests: a graph, its file, and modifications of the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ir/oracle/random_inputs.h"
#include "ir/verify/symbol_sizes.h"
#include "runtime/saved/read_saved.h"
#include "sinter/saved.h"
#include "sinter/sinter.h"
#include "tests/support/files/errors.h"
#include "tests/support/files/golden.h"
#include "tests/support/files/read_text.h"
#include "tests/support/files/scratch_folder.h"
#include "tests/support/run/run.h"

namespace sinter::test {

inline const Options kQuickly = {.tune = Tune::off, .optimize_host = false};

inline void expect_equal(const HostArrays& actual, const HostArrays& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, values] : expected)
    EXPECT_TRUE(equal_bits(actual.at(name), values)) << name;
}

/// Counts of plans, compilations and tunings so far.
inline std::vector<std::int64_t> work() {
  const Counters now = counters({.cache = {.mode = CacheMode::off}});
  return {now.plans, now.kernels.compiles, now.kernels.misses, now.tunings};
}

inline std::vector<Size> named(const GoldenSizes& sizes) {
  std::vector<Size> result;
  for (const auto& [name, value] : sizes) result.push_back({name, value});
  return result;
}

inline std::vector<std::int64_t> symbols_for(const Graph& graph, const std::vector<Size>& sizes) {
  std::vector<NamedSize> list;
  for (const Size& size : sizes) list.push_back({size.symbol, size.value});
  return symbols_from_sizes(graph, list);
}

class Saved : public ::testing::Test {
 protected:
  /// Normalises rows and adds their column sums to a parameter. The number of rows and their length
  /// are symbols.
  static Graph norm() {
    return parse(R"(
graph norm(x: f32[rows, n], bias: f32[n], total: f32[n], rate: f32) {
  ms = mean x {axes = [-1], keep = true}
  d = sub x, ms
  y = add d, bias
  s = sum y {axes = [0]}
  t = mul s, rate
  u = add total, t
  update total, u
  return y
})",
                 "norm.sinter");
  }
  HostArrays run(const Executable& executable, std::int64_t rows, std::int64_t n,
                 std::int64_t misalignment = 0) const {
    const std::vector<std::int64_t> symbols = symbols_for(graph, {{"rows", rows}, {"n", n}});
    return run_executable(executable, graph, random_inputs(graph, symbols, /*seed=*/5),
                          {.symbols = symbols, .misalignment = misalignment});
  }
  Executable compiled(const Options& options = kQuickly) const {
    return compile(graph, host_device(), options);
  }
  /// Rewrites the file with changed kernels.
  void change(const std::function<void(SavedKernels&)>& change) const {
    const std::string text = read_text(path);
    const auto bytes = std::as_bytes(std::span(text));
    const SavedExecutable saved = read_saved(bytes, path);
    SavedKernels kernels = read_kernels(saved, 0, path);
    change(kernels);
    const std::vector<SavedSection> sections = {
        {.kind = kProgramSection, .bytes = pack(saved.program)},
        {.kind = kKernelsSection, .name = kernels.arch, .bytes = pack(kernels)}};
    EXPECT_EQ(
        write_named_file(path, [&](const File& file) { return write_saved_file(file, sections); }),
        0);
  }
  std::string load_error() const {
    return error_of([&] { load(path, host_device()); });
  }

  const Graph graph = norm();
  ScratchFolder folder;
  std::string path = folder.path() + "/norm.sinterx";
};

}  // namespace sinter::test
