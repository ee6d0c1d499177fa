#include "runtime/libraries/problem/conv_problem.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/support/checked_arithmetic.h"
#include "sinter/error.h"

namespace sinter {

namespace {

using Lengths = std::span<const std::int64_t>;

/// The roles of the three arrays of a call.
struct ConvShapes {
  Lengths x, w, y;
};

ConvShapes shapes_of(ConvKind kind, const OpaqueSizes& call) {
  if (call.inputs.size() != 2 || call.outputs.size() != 1)
    throw UserError("it has two operands and one result; save the program again");
  const Lengths first = call.inputs[0].shape, second = call.inputs[1].shape,
                result = call.outputs[0].shape;
  switch (kind) {
    case ConvKind::forward: return {.x = first, .w = second, .y = result};
    case ConvKind::data_gradient: return {.x = result, .w = second, .y = first};
    case ConvKind::weight_gradient: return {.x = first, .w = result, .y = second};
  }
  return {};
}

/// The last axes of a call as three axes, with `missing` in front.
ConvProblem::Sizes spatial(Lengths values, std::int64_t missing) {
  ConvProblem::Sizes sizes = {missing, missing, missing};
  std::ranges::copy(values, sizes.end() - static_cast<std::ptrdiff_t>(values.size()));
  return sizes;
}

/// The extent of a result along one axis; at most 0 if the filter does not fit.
std::int64_t result_extent(const ConvProblem& problem, std::size_t i) {
  const std::int64_t padded =
      checked_sum(problem.size[i], checked_sum(problem.padding_begin[i], problem.padding_end[i]));
  const std::int64_t reach = checked_product(problem.dilations[i], problem.filter_size[i] - 1);
  return padded - reach < 1 ? 0 : (padded - reach - 1) / problem.strides[i] + 1;
}

bool fits(const ConvProblem& problem, const ConvShapes& shapes) {
  if (problem.groups < 1 || shapes.w[0] != shapes.y[1] || shapes.x[0] != shapes.y[0] ||
      problem.channels != shapes.w[1] * problem.groups || problem.filters % problem.groups != 0)
    return false;
  for (std::size_t i = 0; i < 3; ++i)
    if (problem.strides[i] < 1 || problem.dilations[i] < 1 || problem.filter_size[i] < 0 ||
        problem.result_size[i] != result_extent(problem, i))
      return false;
  return true;
}

[[noreturn]] void fail_call(const OpaqueSizes& call) {
  throw UserError(
      fmt::format("arrays of [{}], [{}] and [{}] do not fit the options; save the program again",
                  fmt::join(call.inputs[0].shape, ", "), fmt::join(call.inputs[1].shape, ", "),
                  fmt::join(call.outputs[0].shape, ", ")));
}

}  // namespace

ConvProblem conv_problem(ConvKind kind, const OpaqueSizes& call) {
  const ConvShapes shapes = shapes_of(kind, call);
  const std::size_t rank = shapes.x.size();
  if (rank < 3 || rank > 5 || shapes.w.size() != rank || shapes.y.size() != rank) fail_call(call);
  const auto list = [&](std::string_view name, std::int64_t missing) {
    const Lengths values = call.integers(name);
    if (values.size() != rank - 2) fail_call(call);
    return spatial(values, missing);
  };
  ConvProblem problem{.kind = kind,
                      .dtype = call.inputs[0].dtype,
                      .allow_tf32 = call.number("allow_tf32", 0) != 0,
                      .axes = static_cast<int>(rank) - 2,
                      .images = shapes.x[0],
                      .channels = shapes.x[1],
                      .filters = shapes.w[0],
                      .groups = static_cast<std::int64_t>(call.number("groups", 1)),
                      .size = spatial(shapes.x.subspan(2), 1),
                      .filter_size = spatial(shapes.w.subspan(2), 1),
                      .result_size = spatial(shapes.y.subspan(2), 1),
                      .strides = list("strides", 1),
                      .dilations = list("dilations", 1),
                      .padding_begin = list("padding_begin", 0),
                      .padding_end = list("padding_end", 0)};
  if (!fits(problem, shapes)) fail_call(call);
  return problem;
}

}  // namespace sinter
