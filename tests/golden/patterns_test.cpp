// What each pattern of memory-bound work compiles to: launches, and bytes against the fewest there
// can be. A file says how many it may have; the figures themselves are a golden file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "compiler/kernel_body.h"
#include "compiler/minimal_bytes.h"
#include "compiler/sectors.h"
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
  double sectors = 1;  ///< of the kernel with tiles that asks for most, against the fewest
  double ratio() const { return static_cast<double>(bytes) / static_cast<double>(minimal); }
};

/// Sectors that a kernel asks for, against the fewest.
double sectors_ratio(const Program& program, const Kernel& kernel, const Schedule& schedule) {
  const Sectors sectors = sectors_of(body_of(program, kernel), schedule, program.facts);
  return sectors.asked / sectors.fewest;
}

/// What tiles do for `kernel`; nothing is said of one without.
std::string tile_text(const Program& program, const Kernel& kernel) {
  if (kernel.schedule.tile == 0) return {};
  const auto direct = std::ranges::find(kernel.candidates, 0, &Schedule::tile);
  return fmt::format(" (tiles of {0} x {0}: {1:.2f} of the fewest sectors, {2:.2f} without)",
                     kernel.schedule.tile, sectors_ratio(program, kernel, kernel.schedule),
                     sectors_ratio(program, kernel, *direct));
}

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
                     (kernel.schedule.resident ? " (resident)" : "") + tile_text(program, kernel);
    if (kernel.schedule.tile > 0)
      figures.sectors = std::max(figures.sectors, sectors_ratio(program, kernel, kernel.schedule));
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
      if (const std::string most = head_line(text, "sectors"); !most.empty()) {
        EXPECT_LE(figures.sectors, std::stod(most) + 0.005) << where;
        EXPECT_THAT(figures.kinds, testing::HasSubstr("tiles")) << where;
      }
      table += fmt::format("{}: {} launch{}, {} bytes, {:.3f} of the fewest: {}\n", where,
                           figures.launches, figures.launches == 1 ? "" : "es", figures.bytes,
                           figures.ratio(), figures.kinds);
    }
  }
  expect_golden(std::filesystem::path(kFolder) / "figures.txt", table);
}

}  // namespace
}  // namespace sinter::test
