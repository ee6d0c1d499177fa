#include "runtime/libraries/algorithms/problem_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter {

std::string problem_text(const MatmulProblem& problem) {
  std::string text =
      fmt::format("matmul {}{} {}{} to {}{} m {} n {} k {}", name(problem.a_dtype),
                  problem.transpose_a ? " transposed" : "", name(problem.b_dtype),
                  problem.transpose_b ? " transposed" : "", name(problem.result_dtype),
                  problem.allow_tf32 ? " tf32" : "", problem.m, problem.n, problem.k);
  for (const MatmulProblem::Axis& axis : problem.batch)
    text += fmt::format(" batch {} by {} and {}", axis.extent, axis.a_stride, axis.b_stride);
  return text;
}

std::string problem_text(const ConvProblem& problem) {
  constexpr const char* kKinds[] = {"conv", "conv_data_gradient", "conv_weight_gradient"};
  return fmt::format(
      "{} {}{} axes {} images {} channels {} filters {} groups {} size [{}] filter [{}] result "
      "[{}] strides [{}] dilations [{}] padding [{}] and [{}]",
      kKinds[static_cast<int>(problem.kind)], name(problem.dtype),
      problem.allow_tf32 ? " tf32" : "", problem.axes, problem.images, problem.channels,
      problem.filters, problem.groups, fmt::join(problem.size, ", "),
      fmt::join(problem.filter_size, ", "), fmt::join(problem.result_size, ", "),
      fmt::join(problem.strides, ", "), fmt::join(problem.dilations, ", "),
      fmt::join(problem.padding_begin, ", "), fmt::join(problem.padding_end, ", "));
}

}  // namespace sinter
