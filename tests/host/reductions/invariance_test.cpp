// Result invariance of every family of reductions and scans, in every dtype, over aligned, odd and
// prime extents. All candidate schedules, fused or not, give the same bits.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/plan.h"
#include "tests/support/graphs/reduction_families.h"
#include "tests/support/run/run.h"

namespace sinter::test::invariance_test {
namespace {

class Invariance : public testing::TestWithParam<std::tuple<ReductionFamily, DType>> {};

/// True if `kernel` is of the kind that `family` tests, and has candidates to choose from.
bool has_choice(const ReductionFamily& family, const Kernel& kernel) {
  return name(kernel.kind) == family.kind && kernel.candidates.size() > 1 &&
         (!family.is_tested_schedule ||
          std::ranges::any_of(kernel.candidates, family.is_tested_schedule));
}

TEST_P(Invariance, EveryCandidateGivesTheSameBits) {
  const auto& [family, dtype] = GetParam();
  // Without launch fusion, so that each kernel has its own candidates.
  run_and_check(graph_text(family, dtype), {},
                {.replay = false, .options = {.skip = {"fuse_launches"}}});
}

/// For each shape alone, some kernel has the tested kind and candidates.
TEST_P(Invariance, EveryShapeHasTheTestedCandidates) {
  const auto& [family, dtype] = GetParam();
  for (const std::string_view shape : family.shapes) {
    const std::string text = graph_text(family, dtype, {shape});
    const Program program =
        plan(parse(text), known_targets()[0], {.alignment = 16}, {.skip = {"fuse_launches"}});
    const auto has_choice_of = [&](const Kernel& kernel) { return has_choice(family, kernel); };
    std::string kernels;
    for (const Kernel& kernel : program.kernels) {
      kernels += fmt::format("{}:\n", name(kernel.kind));
      for (const Schedule& schedule : kernel.candidates)
        kernels += fmt::format("  {}\n", to_string(schedule));
    }
    EXPECT_TRUE(std::ranges::any_of(program.kernels, has_choice_of)) << text << kernels;
  }
}

INSTANTIATE_TEST_SUITE_P(Reductions, Invariance,
                         testing::Combine(testing::ValuesIn(reduction_families()),
                                          testing::ValuesIn(reduction_dtypes())),
                         [](const auto& test) {
                           return fmt::format("{}_{}", std::get<0>(test.param).name,
                                              name(std::get<1>(test.param)));
                         });

}  // namespace
}  // namespace sinter::test::invariance_test
