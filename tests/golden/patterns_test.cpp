// The launches of each pattern of memory-bound work, and its bytes relative to the minimum. The
// file of the pattern has the limits; the figures are in a golden file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "compiler/body/minimal_bytes.h"
#include "compiler/body_building/build_body.h"
#include "compiler/tiling/coalescing.h"
#include "ir/verify/symbol_sizes.h"
#include "tests/support/files/golden.h"
#include "tests/support/graphs/patterns.h"

namespace sinter::test::patterns_test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/patterns";

/// Minimum bytes per block. A block that moves fewer costs more to start than it saves.
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

/// Sectors that a kernel requests, relative to the minimum.
double sectors_ratio(const Program& program, const Kernel& kernel, const Schedule& schedule) {
  const Sectors sectors = sectors_of(body_of(program, kernel), schedule, program.facts);
  return sectors.requested / sectors.minimum;
}

/// The sectors of `kernel` with and without tiles; empty if it has none.
std::string tile_text(const Program& program, const Kernel& kernel) {
  if (kernel.schedule.tile == 0) return {};
  const auto direct = std::ranges::find(kernel.candidates, 0, &Schedule::tile);
  return fmt::format(" (tiles of {0} x {0}: {1:.2f} of the fewest sectors, {2:.2f} without)",
                     kernel.schedule.tile, sectors_ratio(program, kernel, kernel.schedule),
                     sectors_ratio(program, kernel, *direct));
}

/// The reasons for more than one kernel or section.
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

/// True if the contiguous axis consists of whole vectors of 4 elements.
bool has_vectors(const Buffer& buffer, std::span<const std::int64_t> symbols) {
  for (std::size_t axis = 0; axis < buffer.strides.size(); ++axis)
    if (buffer.strides[axis].is(1)) {
      const std::int64_t extent = evaluate(buffer.node->shape[axis], symbols);
      if (extent > 1) return extent % 4 == 0;
    }
  return false;
}

/// No array is accessed both by vectors and element by element. Accesses move at least 4 elements
/// or 8 bytes of arrays with vectors and at least a sixteenth of the kernel's bytes.
void expect_vectors(const Pattern& pattern, const Program& program, const Kernel& kernel,
                    const Source& source, std::span<const std::int64_t> symbols) {
  const Extent all = source.traffic.bytes_read + source.traffic.bytes_written;
  for (const std::vector<Argument>* arguments : {&source.arguments, &source.table})
    for (const Argument& argument : *arguments) {
      if (argument.kind != Argument::Kind::buffer) continue;
      const Buffer& buffer = program.buffers[static_cast<std::size_t>(argument.index)];
      const std::string name(program.name_of(buffer));
      if (std::ranges::count(pattern.narrow, name) > 0) continue;
      for (const Widths& widths : {argument.loads, argument.stores}) {
        if (pattern.has_odd_rows()) continue;
        EXPECT_EQ(widths.narrowest, widths.widest)
            << pattern.name << ": " << kernel.name << ", " << name;
      }
      const std::int64_t bytes = bytes_of(buffer, symbols);
      if (bytes < evaluate(all, symbols) / 16 || !has_vectors(buffer, symbols)) continue;
      for (const Widths& widths : {argument.loads, argument.stores}) {
        if (widths.widest == 0) continue;
        EXPECT_GE(widths.widest, std::min(8, 4 * size_of(buffer.dtype)))
            << pattern.name << ": " << kernel.name << ", " << name;
      }
    }
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
    expect_vectors(pattern, program, kernel, source, symbols);
    const std::int64_t bytes = evaluate(source.traffic.bytes_read, symbols) +
                               evaluate(source.traffic.bytes_written, symbols);
    figures.bytes += bytes;
    if (bytes >= find_target("h200")->sm_count * kEnough)
      figures.least_of_block =
          std::min(figures.least_of_block, bytes / evaluate(source.grid, symbols));
    std::string kind(name(kernel.kind));
    kind += sections_text(kernel);
    figures.kinds += (figures.kinds.empty() ? "" : ", ") + kind + resident_text(kernel.schedule) +
                     tile_text(program, kernel);
    if (kernel.schedule.tile > 0)
      figures.sectors = std::max(figures.sectors, sectors_ratio(program, kernel, kernel.schedule));
  }
  return figures;
}

/// Launches and bytes per layer; empty if the pattern has no layers.
std::string per_layer_text(const Pattern& pattern, const Figures& figures) {
  if (pattern.layers == 0) return {};
  return fmt::format("  per layer {:.3f} launches, {} bytes, {} at least\n",
                     static_cast<double>(figures.launches) / pattern.layers,
                     figures.bytes / pattern.layers, figures.minimal / pattern.layers);
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
             per_layer_text(pattern, figures) + figures.reasons;
  }
  expect_golden(std::string(kFolder) + "/figures.txt", table);
}

}  // namespace
}  // namespace sinter::test::patterns_test
