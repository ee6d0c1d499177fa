// What each pattern of memory-bound work compiles to: launches, and bytes against the fewest there
// can be. A file says how many it may have; the figures themselves are a golden file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "compiler/kernel_body.h"
#include "compiler/minimal_bytes.h"
#include "compiler/sectors.h"
#include "ir/bind.h"
#include "tests/support/golden.h"
#include "tests/support/patterns.h"

namespace sinter::test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/patterns";

/// Bytes that every block moves; with fewer it costs more to start than what it does.
constexpr std::int64_t kEnough = 4096;

struct Figures {
  std::size_t launches = 0;
  std::int64_t bytes = 0;
  std::int64_t minimal = 0;
  std::string kinds;
  std::string reasons;
  std::int64_t least_of_block = kEnough;  ///< bytes, of launches that have as many for every SM
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

/// ` of 12 row_reduce + pointwise`
std::string members_text(const Kernel& kernel) {
  std::string text;
  const std::vector<Kernel>& members = kernel.members;
  for (auto first = members.begin(); first != members.end();) {
    const auto next = std::ranges::find_if(
        first, members.end(), [&](const Kernel& member) { return member.kind != first->kind; });
    text +=
        fmt::format("{}{}{}", text.empty() ? " of " : " + ",
                    next - first == 1 ? "" : fmt::format("{} ", next - first), name(first->kind));
    first = next;
  }
  return text;
}

/// Why there is more than one kernel or member.
std::string reasons_text(const Program& program) {
  std::string text;
  for (const Boundary& boundary : program.boundaries)
    text += fmt::format("  {}{} | {} ({:.0f} bytes): {}\n", boundary.is_inside ? "inside " : "",
                        boundary.producer, boundary.consumer, boundary.bytes, boundary.reason);
  return text;
}

std::string resident_text(const Schedule& schedule) {
  if (!schedule.resident) return "";
  if (schedule.blocks_per_row() == 1) return " (resident)";
  return fmt::format(" (resident in clusters of {})", schedule.blocks_per_row());
}

Figures figures_of(const Pattern& pattern) {
  const Graph graph = pattern.graph();
  std::vector<NamedSize> sizes;
  for (const auto& [name, value] : pattern.sizes) sizes.push_back({name, value});
  const std::vector<std::int64_t> symbols = symbols_from_sizes(graph, sizes);
  const Program program = plan(graph, *find_target("h200"), {.symbols = symbols});
  Figures figures{.launches = program.kernels.size(),
                  .minimal = minimal_bytes(program.graph->data(), symbols)};
  if (pattern.shows_reasons) figures.reasons = reasons_text(program);
  for (const Kernel& kernel : program.kernels) {
    const Source source = emit(program, kernel, kernel.schedule, kernel.name);
    const std::int64_t bytes = evaluate(source.traffic.bytes_read, symbols) +
                               evaluate(source.traffic.bytes_written, symbols);
    figures.bytes += bytes;
    if (bytes >= find_target("h200")->sm_count * kEnough)
      figures.least_of_block =
          std::min(figures.least_of_block, bytes / evaluate(source.grid, symbols));
    std::string kind(name(kernel.kind));
    kind += members_text(kernel);
    figures.kinds += (figures.kinds.empty() ? "" : ", ") + kind + resident_text(kernel.schedule) +
                     tile_text(program, kernel);
    if (kernel.schedule.tile > 0)
      figures.sectors = std::max(figures.sectors, sectors_ratio(program, kernel, kernel.schedule));
  }
  return figures;
}

TEST(Patterns, CompileToTheLaunchesAndBytesThatTheyState) {
  std::string table;
  for (const Pattern& pattern : patterns(kFolder)) {
    const Figures figures = figures_of(pattern);
    EXPECT_LE(figures.launches, pattern.launches) << pattern.name;
    EXPECT_LE(figures.ratio(), pattern.bytes + 0.005) << pattern.name;
    EXPECT_GE(figures.least_of_block, kEnough) << pattern.name;
    if (pattern.sectors > 0) {
      EXPECT_LE(figures.sectors, pattern.sectors + 0.005) << pattern.name;
      EXPECT_THAT(figures.kinds, testing::HasSubstr("tiles")) << pattern.name;
    }
    table += fmt::format("{}: {} launch{}, {} bytes, {:.3f} of the fewest: {}\n", pattern.name,
                         figures.launches, figures.launches == 1 ? "" : "es", figures.bytes,
                         figures.ratio(), figures.kinds) +
             figures.reasons;
  }
  expect_golden(std::string(kFolder) + "/figures.txt", table);
}

}  // namespace
}  // namespace sinter::test
