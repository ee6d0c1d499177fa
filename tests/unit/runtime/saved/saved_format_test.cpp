// The format of saved executables changes only together with its version numbers.
#include <gtest/gtest.h>

#include "runtime/cache/cache_entry.h"
#include "runtime/saved/saved_file.h"
#include "runtime/saved/saved_program.h"
#include "runtime/saved/saved_weights.h"

namespace sinter::saved_format_test {
namespace {

std::string hash_of(const std::vector<std::byte>& bytes) {
  return name_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).hex().substr(0, 16);
}

/// Sets every field of every struct. If the saved data or their meaning change, increment the
/// version of the section and update the hash here.
TEST(SavedFormat, HashChangesOnlyWithTheVersion) {
  Graph graph("g");
  const Extent rows = graph.extent("rows");
  const Extent grid = floor_div(rows * rows + 7, 4) * 3 - 1;
  const Argument argument{.kind = Argument::Kind::extent,
                          .index = 1,
                          .extent = grid,
                          .c_type = "int",
                          .loads = {2, 3},
                          .stores = {4, 5}};
  const Source source{.entry = "k",
                      .text = "void k",
                      .arguments = {argument},
                      .table = {argument},
                      .grid = grid,
                      .threads = 6,
                      .shared_bytes = 7,
                      .workspace_bytes = rows,
                      .tickets = 8,
                      .has_barrier = true,
                      .is_cooperative = false,
                      .planned_blocks = 65,
                      .cluster = 2,
                      .may_start_early = true,
                      .vector_bytes = 16,
                      .traffic = {true, false, rows, 9}};
  Schedule schedule{10, 11, 12,   13,    14, 15,   true,         false, 16, true,
                    17, 18, true, false, 19, true, Copies::bulk, 64,    20};
  schedule.strips = {21, 22};
  schedule.resident_tiles = {23, 24, 25, 64, 26, true, 27};
  schedule.sections = {Schedule{.threads = 28}};
  SavedKernels kernels{.arch = "sm_90",
                       .host_machine_level = "m",
                       .target = "h200",
                       .host_prelude_hash = "s",
                       .images = {{std::byte{29}}},
                       .variants = std::vector<SavedVariant>(1)};
  Variant& variant = kernels.variants[0].variant;
  kernels.variants[0].sizes = {30, 31};
  kernels.variants[0].images = {0};
  kernels.variants[0].calls = {{.kernel = 62,
                                .call = {.function = "f",
                                         .place = "p",
                                         .attributes = {{"a", 0.5}, {"b", "c"}},
                                         .inputs = {{.dtype = bf16, .is_number = true}},
                                         .outputs = {{.dtype = i8, .shape = {rows, 63}}}}}};
  variant.alignment = 16;
  variant.unwritten_outputs = {true, false};
  variant.kernels = {{.source = source, .schedule = schedule}};
  Program& program = variant.program;
  program.arch = "sm_90";
  program.buffers = {{.kind = Buffer::Kind::output,
                      .index = 1,
                      .dtype = bf16,
                      .elements = rows,
                      .name = "b",
                      .parent = 0,
                      .offset = grid}};
  program.kernels = {{.name = "k", .kind = KernelKind::scan, .stores = {{.buffer = 32}}}};
  program.kernels[0].depends_on = {33};
  program.kernels[0].reads = {34};
  program.guards = {{.value = grid, .low = -1, .high = 35, .divisor = 36, .reason = "r"}};
  KernelReport report{.name = "k",
                      .kind = "scan",
                      .sections = {{"m", 1, "scan", 2}},
                      .nodes = {"n"},
                      .places = {"p"},
                      .schedule = "t",
                      .launches = 37,
                      .bytes_read = 38,
                      .bytes_written = 39,
                      .bytes_are_bounds = true,
                      .minimal_bytes = 40,
                      .threads = 41,
                      .grid = 42,
                      .planned_blocks = 66,
                      .cluster = 43,
                      .vector_bytes = 44,
                      .registers = 45,
                      .spill_bytes = 46,
                      .shared_bytes = 47,
                      .cubin = {"sm_90", "w", 48, 49, 50, 51, 52, 53, 54, 55.5},
                      .notes = {"o"},
                      .candidates = {{"t", 0.25, 0.125, 0.5, 56, 57, true, "q", true}},
                      .tuning = "u"};
  variant.report = {.reason = "r",
                    .sizes = {"rows = 30"},
                    .guards = {"g"},
                    .alignment = 16,
                    .arena_bytes = 58,
                    .kernels = {report},
                    .boundaries = {{"a", "b", "c", true, 59}}};
  const SavedProgram saved{.graph = "graph g",
                           .name = "g",
                           .inputs = {"x"},
                           .outputs = {"y", "z"},
                           .symbols = {"rows"},
                           .numerics = {.rounding = Rounding::wide, .math = Math::fast},
                           .fuse = true,
                           .skip = {"fuse_launches"},
                           .bucket_bytes = 62,
                           .recorded_ops = 60,
                           .functions = {{"f", 61, true}}};
  EXPECT_EQ(kKernelsSection.version, 5U);
  EXPECT_EQ(kProgramSection.version, 2U);
  EXPECT_EQ(hash_of(pack(kernels)), "d6eff8bcbfec7e23");
  EXPECT_EQ(hash_of(pack(saved)), "0f8bb5e788be44c0");
}

TEST(SavedFormat, HashOfWeightsChangesOnlyWithTheVersion) {
  const SavedWeights weights{
      .table = {{.input = "w", .dtype = bf16, .shape = {1, 2}, .offset = 4096, .bytes = 4},
                {.input = "k",
                 .is_number = true,
                 .number = {.kind = Literal::Kind::real, .integer = 5, .real = 0.5}}}};
  EXPECT_EQ(kWeightsSection.version, 2U);
  EXPECT_EQ(hash_of(pack(weights)), "5a2d4a0c2700d097");
}

}  // namespace
}  // namespace sinter::saved_format_test
