// Plans the graphs under tests/golden/kernels, and compares text with golden files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/emit.h"
#include "compiler/plan.h"

namespace sinter::test {

/// Sizes by symbol.
using GoldenSizes = std::vector<std::pair<std::string, std::int64_t>>;
/// The sizes in every line `// sizes: rows = 64, columns = 128` of `text`.
std::vector<GoldenSizes> golden_sizes(const std::string& text);

/// One `.sinter` file and its program.
struct GoldenProgram {
  std::string name;
  Program program;
};

/// All `.sinter` files in `folder` (tests/golden/kernels), sorted by path.
std::vector<std::filesystem::path> golden_graphs(const std::filesystem::path& folder);
/// Plans the graph for `target`. The first line `// sizes: rows = 64, …` has the symbols' sizes.
GoldenProgram plan_golden(const std::filesystem::path& file, const PlanOptions& options = {},
                          std::string_view target = "sm_90");
/// Plans the graph with `prefix` before all names of values and symbols.
GoldenProgram plan_renamed(const std::filesystem::path& file, const std::string& prefix);

/// Compares `text` with the file. Fails the running test with the first line that differs. With
/// SINTER_BLESS=1, writes the file instead.
void expect_golden(const std::filesystem::path& file, const std::string& text);

}  // namespace sinter::test
