// Plans of random graphs keep their launch parameters after packing and unpacking.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/plan.h"
#include "compiler/simplify/graph_sweep.h"
#include "ir/shape/extent.h"
#include "runtime/execution/launch_set.h"
#include "runtime/execution/make_variant.h"
#include "runtime/saved/saved_program.h"
#include "sinter/text.h"
#include "tests/support/graphs/random_graph.h"

namespace sinter::test::saved_fuzz_test {
namespace {

SavedProgram program_of(const Graph& graph) {
  SavedProgram program{.graph = print(graph), .name = std::string(graph.name())};
  for (const InputInfo& input : graph.data().inputs) program.inputs.push_back(input.name);
  for (const OutputInfo& output : graph.data().outputs) program.outputs.push_back(output.name);
  for (const ExtentAtom* symbol : graph.data().extents->symbols())
    program.symbols.push_back(symbol->name);
  return program;
}

/// One size class. Nothing is compiled.
SavedKernels kernels_of(const Graph& graph, const std::vector<std::int64_t>& sizes) {
  SavedKernels kernels{.arch = "sm_90", .images = {{std::byte{'x'}, std::byte{0}}}};
  SavedVariant& saved = kernels.variants.emplace_back();
  saved.sizes = sizes;
  Variant& variant = saved.variant;
  variant.program = plan(graph, known_targets()[0], {.symbols = sizes});
  for (const Kernel& kernel : variant.program.kernels) {
    EmittedKernel emitted = emit_candidates(variant.program, kernel, 1);
    saved.images.push_back(0);
    variant.report.kernels.push_back({.name = emitted.sources[0].entry});
    variant.kernels.push_back(
        {.source = std::move(emitted.sources[0]), .schedule = std::move(emitted.schedules[0])});
  }
  return kernels;
}

/// All launch parameters that depend on sizes.
std::vector<std::int64_t> launches_of(const Variant& variant,
                                      const std::vector<std::int64_t>& symbols) {
  const ScratchLayout layout = lay_out(variant, MemoryPlanner(variant.program), symbols);
  std::vector<std::int64_t> numbers = layout.buffer_offsets;
  numbers.push_back(layout.arena_bytes);
  numbers.push_back(layout.tickets);
  numbers.push_back(holds(variant.program, symbols));
  for (const VariantKernel& kernel : variant.kernels) {
    numbers.push_back(evaluate(kernel.source.grid, symbols));
    numbers.push_back(evaluate(kernel.source.traffic.bytes_read, symbols));
    for (const std::vector<Argument>* list : {&kernel.source.arguments, &kernel.source.table})
      for (const Argument& argument : *list) numbers.push_back(evaluate(argument.extent, symbols));
  }
  return numbers;
}

TEST(SavedFuzz, UnpackedPlansHaveEqualLaunches) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const RandomGraph random = random_graph(seed, 3 + static_cast<int>(seed % 11));
    const Graph graph = clone(random.graph);
    const SavedProgram program = program_of(graph);
    const Graph read_graph = graph_of(program, "a test");
    const SavedKernels kernels = kernels_of(graph, random.sizes);
    const SavedKernels read = unpack_kernels(pack(kernels), program, read_graph);
    const Variant& variant = read.variants[0].variant;
    EXPECT_EQ(launches_of(variant, variant.program.facts.symbols),
              launches_of(kernels.variants[0].variant, random.sizes))
        << "seed " << seed << "\n"
        << program.graph;
  }
}

}  // namespace
}  // namespace sinter::test::saved_fuzz_test
