// Texts of problems: each field that decides an algorithm changes them.
#include "runtime/libraries/algorithms/problem_text.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sinter::problem_text_test {
namespace {

TEST(ProblemText, EachFieldOfAProductChangesIt) {
  const std::vector<std::function<void(MatmulProblem&)>> changes = {
      [](MatmulProblem&) {},
      [](MatmulProblem& p) { p.a_dtype = f16; },
      [](MatmulProblem& p) { p.b_dtype = f16; },
      [](MatmulProblem& p) { p.result_dtype = f16; },
      [](MatmulProblem& p) { p.transpose_a = true; },
      [](MatmulProblem& p) { p.transpose_b = true; },
      [](MatmulProblem& p) { p.allow_tf32 = true; },
      [](MatmulProblem& p) { p.m = 9; },
      [](MatmulProblem& p) { p.n = 9; },
      [](MatmulProblem& p) { p.k = 9; },
      [](MatmulProblem& p) { p.batch = {{.extent = 2, .a_stride = 8, .b_stride = 0}}; },
      [](MatmulProblem& p) { p.batch = {{.extent = 2, .a_stride = 0, .b_stride = 8}}; },
      [](MatmulProblem& p) { p.batch = {{.extent = 3, .a_stride = 8, .b_stride = 0}}; }};
  std::set<std::string> texts;
  for (const auto& change : changes) {
    MatmulProblem problem{.m = 8, .n = 8, .k = 8};
    change(problem);
    EXPECT_TRUE(texts.insert(problem_text(problem)).second) << problem_text(problem);
  }
}

TEST(ProblemText, EachFieldOfAConvolutionChangesIt) {
  const std::vector<std::function<void(ConvProblem&)>> changes = {
      [](ConvProblem&) {},
      [](ConvProblem& p) { p.kind = ConvKind::data_gradient; },
      [](ConvProblem& p) { p.kind = ConvKind::weight_gradient; },
      [](ConvProblem& p) { p.dtype = f16; },
      [](ConvProblem& p) { p.allow_tf32 = true; },
      [](ConvProblem& p) { p.axes = 1; },
      [](ConvProblem& p) { p.images = 3; },
      [](ConvProblem& p) { p.channels = 3; },
      [](ConvProblem& p) { p.filters = 3; },
      [](ConvProblem& p) { p.groups = 3; },
      [](ConvProblem& p) { p.size[1] = 3; },
      [](ConvProblem& p) { p.filter_size[1] = 3; },
      [](ConvProblem& p) { p.result_size[1] = 3; },
      [](ConvProblem& p) { p.strides[1] = 3; },
      [](ConvProblem& p) { p.dilations[1] = 3; },
      [](ConvProblem& p) { p.padding_begin[1] = 3; },
      [](ConvProblem& p) { p.padding_end[1] = 3; },
      [](ConvProblem& p) { p.padding_end[2] = 3; }};
  std::set<std::string> texts;
  for (const auto& change : changes) {
    ConvProblem problem;
    change(problem);
    EXPECT_TRUE(texts.insert(problem_text(problem)).second) << problem_text(problem);
  }
}

}  // namespace
}  // namespace sinter::problem_text_test
