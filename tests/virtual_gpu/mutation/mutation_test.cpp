#include "tests/virtual_gpu/mutation/mutation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu::mutation_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string module_of(const std::string& body) {
  return ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u64 "
         "to)\n{\n"
         ".reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>;\n" +
         body + "\nret;\n}\n";
}

/// `number kind: the line of the body after the mutation`, for each mutation of a body of one line.
std::vector<std::string> mutations_of(const std::string& body) {
  const ptx::Module module = ptx::parse(module_of(body));
  std::vector<std::string> texts;
  for (const Mutation& mutation : find_mutations(module)) {
    const std::string text = mutated_text(module, mutation);
    const std::size_t begin = text.find("%rd<4>;\n") + 8;
    texts.push_back(fmt::format("{} {}: {}", mutation.number, name_of(mutation.kind),
                                text.substr(begin, text.find("\nret;") - begin)));
  }
  return texts;
}

TEST(MutationTest, RemovesBarriersAndFences) {
  EXPECT_THAT(mutations_of("bar.sync 0; fence.acq_rel.gpu; membar.gl; barrier.sync 1;"),
              ElementsAre("1 barrier:  fence.acq_rel.gpu; membar.gl; barrier.sync 1;",
                          "2 fence: bar.sync 0;  membar.gl; barrier.sync 1;",
                          "3 fence: bar.sync 0; fence.acq_rel.gpu;  barrier.sync 1;",
                          "4 barrier: bar.sync 0; fence.acq_rel.gpu; membar.gl; "));
  EXPECT_THAT(mutations_of("griddepcontrol.wait; griddepcontrol.launch_dependents;"),
              ElementsAre("1 grid wait:  griddepcontrol.launch_dependents;"));
}

TEST(MutationTest, RemovesGuardsToo) {
  EXPECT_THAT(mutations_of("@!%p1 bar.sync 0; @%p2 membar.gl;"),
              ElementsAre("1 barrier:  @%p2 membar.gl;", "2 fence: @!%p1 bar.sync 0; "));
}

TEST(MutationTest, WeakensVolatileAccesses) {
  EXPECT_THAT(
      mutations_of("ld.volatile.global.u32 %r1, [%rd1]; st.volatile.u32 [%rd1], %r1;"),
      ElementsAre("1 volatile load: ld.global.u32 %r1, [%rd1]; st.volatile.u32 [%rd1], %r1;",
                  "2 volatile store: ld.volatile.global.u32 %r1, [%rd1]; st.u32 [%rd1], "
                  "%r1;"));
}

TEST(MutationTest, ReductionsGiveEachThreadItsOwnPredicate) {
  EXPECT_THAT(mutations_of("bar.red.or.pred %p2, 0, %p1; bar.red.popc.u32 %r1, 0, !%p1;"),
              ElementsAre("1 reduction: mov.pred  %p2, %p1; bar.red.popc.u32 %r1, 0, !%p1;",
                          "2 reduction: bar.red.or.pred %p2, 0, %p1; selp.u32  %r1, 0, 1, %p1;"));
}

TEST(MutationTest, ClusterBarriersAreRemovedInPairsOrRelaxed) {
  EXPECT_THAT(
      mutations_of("barrier.cluster.arrive.release; mov.u32 %r1, 0; barrier.cluster.wait.acquire;"),
      ElementsAre("1 cluster barrier:  mov.u32 %r1, 0; ",
                  "2 cluster release: barrier.cluster.arrive.relaxed; mov.u32 %r1, 0; "
                  "barrier.cluster.wait.acquire;"));
  EXPECT_THAT(mutations_of("barrier.cluster.arrive.relaxed; barrier.cluster.wait;"),
              ElementsAre("1 cluster barrier:  "));
}

TEST(MutationTest, WarpInstructionsAndAtomicsStay) {
  EXPECT_THAT(mutations_of("bar.warp.sync 0xffffffff; atom.global.add.u32 %r1, [%rd1], 1;"),
              IsEmpty());
}

TEST(MutationTest, LinesKeepTheirNumbers) {
  const ptx::Module module = ptx::parse(module_of("@%p1\n  bar.sync\n 0;\nmembar.gl;"));
  const std::string text = mutated_text(module, find_mutations(module)[0]);
  EXPECT_EQ(ptx::parse(text).functions[0].instructions[0].line,
            module.functions[0].instructions[1].line);
}

TEST(MutationTest, AreFoundByKernelAndNumber) {
  const std::string ptx = module_of("bar.sync 0; membar.gl;");
  EXPECT_THAT(mutated_text(ptx, {.kernel = "kernel", .number = 2}), HasSubstr("bar.sync 0; \n"));
  EXPECT_EQ(mutated_text(ptx, {.kernel = "other", .number = 1}), ptx);
  try {
    static_cast<void>(mutated_text(ptx, {.kernel = "kernel", .number = 3}));
    FAIL() << "expected a PtxError";
  } catch (const PtxError& error) {
    EXPECT_THAT(error.what(), HasSubstr("kernel has 2 mutations, but number 3 is asked for"));
  }
}

TEST(MutationTest, FunctionsOfAKernelAreThoseThatItCalls) {
  const ptx::Module module = ptx::parse(R"(
.version 9.0
.target sm_90
.address_size 64
.func inner() { bar.sync 0; ret; }
.func outer() { call.uni inner; bar.sync 0; ret; }
.func other() { bar.sync 0; ret; }
.visible .entry kernel() { call.uni outer; ret; }
.visible .entry alone() { ret; }
)");
  EXPECT_THAT(functions_of(module, "kernel"), ElementsAre("inner", "kernel", "outer"));
  EXPECT_THAT(functions_of(module, "alone"), ElementsAre("alone"));
}

}  // namespace
}  // namespace sinter::virtual_gpu::mutation_test
