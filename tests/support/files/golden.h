// The graphs under tests/golden/kernels, planned for the H200, and files of expected text.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "codegen/emit.h"
#include "compiler/plan.h"

namespace sinter::test {

/// Sizes by symbol.
using GoldenSizes = std::vector<std::pair<std::string, std::int64_t>>;
/// Those of every line `// sizes: rows = 64, columns = 128` of `text`.
std::vector<GoldenSizes> golden_sizes(const std::string& text);

/// One `.sinter` file and what it compiles to.
struct GoldenProgram {
  std::string name;
  Program program;
};

/// All graphs in `folder` (tests/golden/kernels) by name. A first line `// sizes: rows = 64, …`
/// gives the symbols' sizes.
std::vector<std::filesystem::path> golden_graphs(const std::filesystem::path& folder);
GoldenProgram plan_golden(const std::filesystem::path& file, const PlanOptions& options = {});
/// The same with `prefix` before all names of values and symbols.
GoldenProgram plan_renamed(const std::filesystem::path& file, const std::string& prefix);

/// Compares `text` with the file; with SINTER_BLESS=1 writes it. Fails the running test with the
/// first line that differs.
void expect_golden(const std::filesystem::path& file, const std::string& text);

}  // namespace sinter::test
