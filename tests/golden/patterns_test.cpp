// What each pattern of memory-bound work compiles to: launches, and bytes against the fewest there
// can be. A file says how many it may have; the figures themselves are a golden file.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "compiler/minimal_bytes.h"
#include "ir/bind.h"
#include "tests/support/golden.h"
#include "tests/support/patterns.h"

namespace sinter::test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/patterns";

struct Figures {
  std::size_t launches = 0;
  std::int64_t bytes = 0;
  std::int64_t minimal = 0;
  std::string kinds;
  double ratio() const { return static_cast<double>(bytes) / static_cast<double>(minimal); }
};

Figures figures_of(const Pattern& pattern) {
  const Graph graph = pattern.graph();
  std::vector<NamedSize> sizes;
  for (const auto& [name, value] : pattern.sizes) sizes.push_back({name, value});
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
  for (const Pattern& pattern : patterns(kFolder)) {
    const Figures figures = figures_of(pattern);
    EXPECT_LE(figures.launches, pattern.launches) << pattern.name;
    EXPECT_LE(figures.ratio(), pattern.bytes + 0.005) << pattern.name;
    table += fmt::format("{}: {} launch{}, {} bytes, {:.3f} of the fewest: {}\n", pattern.name,
                         figures.launches, figures.launches == 1 ? "" : "es", figures.bytes,
                         figures.ratio(), figures.kinds);
  }
  expect_golden(std::string(kFolder) + "/figures.txt", table);
}

}  // namespace
}  // namespace sinter::test
