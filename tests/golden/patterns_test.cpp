// What each pattern of memory-bound work compiles to: launches, and bytes against the fewest there
// can be. A file says how many it may have; the figures themselves are a golden file.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "compiler/minimal_bytes.h"
#include "ir/bind.h"
#include "sinter/text.h"
#include "tests/support/golden.h"

namespace sinter::test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/patterns";

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// What stands behind `// KEY: ` in `text`, or "".
std::string head_line(const std::string& text, const std::string& key) {
  std::smatch match;
  return std::regex_search(text, match, std::regex("// " + key + ": (.*)")) ? match[1].str() : "";
}

std::vector<std::string> head_list(const std::string& text, const std::string& key) {
  std::vector<std::string> result;
  std::istringstream list(head_line(text, key));
  for (std::string item; std::getline(list >> std::ws, item, ',');) result.push_back(item);
  return result;
}

/// The extents that COLUMNS stands for; one that means nothing if it does not occur.
std::vector<std::string> columns_of(const std::string& text) {
  std::vector<std::string> result = head_list(text, "columns");
  if (result.empty()) result.emplace_back("-");
  return result;
}

struct Figures {
  std::size_t launches = 0;
  std::int64_t bytes = 0;
  std::int64_t minimal = 0;
  std::string kinds;
  double ratio() const { return static_cast<double>(bytes) / static_cast<double>(minimal); }
};

Figures figures_of(const std::string& text, const std::string& columns) {
  const Graph graph = parse(std::regex_replace(text, std::regex("COLUMNS"), columns));
  std::vector<NamedSize> sizes;
  if (const std::vector<GoldenSizes> named = golden_sizes(text); !named.empty())
    for (const auto& [name, value] : named.front()) sizes.push_back({name, value});
  const std::vector<std::int64_t> symbols = symbols_from_sizes(graph, sizes);
  const Program program = plan(graph, *find_target("h200"), {.symbols = symbols});
  Figures figures{.launches = program.kernels.size(),
                  .minimal = minimal_bytes(program.graph->data(), symbols)};
  for (const Kernel& kernel : program.kernels) {
    const Source source = emit(program, kernel, kernel.schedule, kernel.name);
    figures.bytes += evaluate(source.traffic.bytes_read, symbols) +
                     evaluate(source.traffic.bytes_written, symbols);
    std::string kind(name(kernel.kind));
    for (const Kernel& member : kernel.members)
      kind += fmt::format("{}{}", &member == &kernel.members.front() ? " of " : " + ",
                          name(member.kind));
    figures.kinds += (figures.kinds.empty() ? "" : ", ") + kind +
                     (kernel.schedule.resident ? " (resident)" : "");
  }
  return figures;
}

TEST(Patterns, CompileToTheLaunchesAndBytesThatTheyState) {
  std::string table;
  for (const std::filesystem::path& file : golden_graphs(kFolder)) {
    const std::string text = text_of(file);
    const std::size_t launches = std::stoul(head_line(text, "launches"));
    // One figure for all extents, or one for each.
    const std::vector<std::string> bytes = head_list(text, "bytes");
    const std::vector<std::string> extents = columns_of(text);
    for (std::size_t i = 0; i < extents.size(); ++i) {
      const std::string& columns = extents[i];
      const Figures figures = figures_of(text, columns);
      const std::string where =
          fmt::format("{}{}", file.stem().string(), columns == "-" ? "" : " of " + columns);
      EXPECT_LE(figures.launches, launches) << where;
      EXPECT_LE(figures.ratio(), std::stod(bytes[std::min(i, bytes.size() - 1)]) + 0.005) << where;
      table += fmt::format("{}: {} launch{}, {} bytes, {:.3f} of the fewest: {}\n", where,
                           figures.launches, figures.launches == 1 ? "" : "es", figures.bytes,
                           figures.ratio(), figures.kinds);
    }
  }
  expect_golden(std::filesystem::path(kFolder) / "figures.txt", table);
}

}  // namespace
}  // namespace sinter::test
