#include "runtime/libraries/problem/matmul_problem.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/support/checked_arithmetic.h"
#include "sinter/error.h"

namespace sinter {

namespace {

using Shape = std::span<const std::int64_t>;

/// The extent of axis `i` of a batch of `rank` axes, to which `leading` broadcasts; 1 in front.
std::int64_t extent_from_behind(Shape leading, std::size_t rank, std::size_t i) {
  const std::size_t missing = rank - leading.size();
  return i < missing ? 1 : leading[i - missing];
}

/// Strides of `leading` axes in front of matrices of `matrix` elements, and 0 where they broadcast.
std::vector<std::int64_t> batch_strides(Shape leading, Shape batch, std::int64_t matrix) {
  std::vector<std::int64_t> strides(batch.size(), 0);
  std::int64_t stride = matrix;
  for (std::size_t i = batch.size(); i-- > 0;) {
    const std::int64_t extent = extent_from_behind(leading, batch.size(), i);
    if (extent != 1) strides[i] = stride;
    stride = checked_product(stride, extent);
  }
  return strides;
}

/// Appends an axis within the last one of `axes`, as one axis if strides permit.
void append_axis(std::vector<MatmulProblem::Axis>& axes, const MatmulProblem::Axis& inner) {
  if (inner.extent == 1) return;
  if (!axes.empty()) {
    MatmulProblem::Axis& outer = axes.back();
    if (outer.a_stride == inner.a_stride * inner.extent &&
        outer.b_stride == inner.b_stride * inner.extent) {
      outer = {.extent = outer.extent * inner.extent,
               .a_stride = inner.a_stride,
               .b_stride = inner.b_stride};
      return;
    }
  }
  axes.push_back(inner);
}

[[noreturn]] void fail_shapes(const OpaqueSizes& call) {
  throw UserError(fmt::format("{} do not give {}[{}]; save the program again", operands_text(call),
                              name(call.outputs[0].dtype), fmt::join(call.outputs[0].shape, ", ")));
}

}  // namespace

std::string operands_text(const OpaqueSizes& call) {
  std::string text;
  for (const OpaqueArray& input : call.inputs)
    text += fmt::format("{}{}[{}]", text.empty() ? "" : ", ", name(input.dtype),
                        fmt::join(input.shape, ", "));
  return text;
}

std::int64_t MatmulProblem::batches() const {
  std::int64_t count = 1;
  for (const Axis& axis : batch) count *= axis.extent;
  return count;
}

MatmulProblem::Offsets MatmulProblem::offsets(std::int64_t index) const {
  Offsets offsets{.result = index * m * n};
  for (std::size_t i = batch.size(); i-- > 0;) {
    const std::int64_t position = index % batch[i].extent;
    index /= batch[i].extent;
    offsets.a += position * batch[i].a_stride;
    offsets.b += position * batch[i].b_stride;
  }
  return offsets;
}

MatmulProblem MatmulProblem::part(std::int64_t begin, std::int64_t most) const {
  MatmulProblem part = *this;
  if (!batch.empty()) part.batch.back().extent = std::min(batch.back().extent - begin, most);
  return part;
}

MatmulProblem matmul_problem(const OpaqueSizes& call) {
  const bool has_arrays = call.inputs.size() == 2 && call.outputs.size() == 1;
  if (!has_arrays) throw UserError("it has two operands and one result; save the program again");
  const Shape a = call.inputs[0].shape, b = call.inputs[1].shape, result = call.outputs[0].shape;
  if (a.size() < 2 || b.size() < 2 || result.size() != std::max(a.size(), b.size()))
    fail_shapes(call);
  MatmulProblem problem{.a_dtype = call.inputs[0].dtype,
                        .b_dtype = call.inputs[1].dtype,
                        .result_dtype = call.outputs[0].dtype,
                        .transpose_a = call.number("transpose_a", 0) != 0,
                        .transpose_b = call.number("transpose_b", 0) != 0,
                        .allow_tf32 = call.number("allow_tf32", 0) != 0};
  const auto last = [](Shape shape, std::size_t from_behind) {
    return shape[shape.size() - from_behind];
  };
  problem.m = last(a, problem.transpose_a ? 1 : 2);
  problem.k = last(a, problem.transpose_a ? 2 : 1);
  problem.n = last(b, problem.transpose_b ? 2 : 1);
  if (last(b, problem.transpose_b ? 1 : 2) != problem.k || last(result, 2) != problem.m ||
      last(result, 1) != problem.n)
    fail_shapes(call);

  const Shape batch = result.first(result.size() - 2);
  const Shape a_batch = a.first(a.size() - 2), b_batch = b.first(b.size() - 2);
  const auto a_strides = batch_strides(a_batch, batch, checked_product(problem.m, problem.k));
  const auto b_strides = batch_strides(b_batch, batch, checked_product(problem.k, problem.n));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    for (const Shape leading : {a_batch, b_batch})
      if (const std::int64_t extent = extent_from_behind(leading, batch.size(), i);
          extent != 1 && extent != batch[i])
        fail_shapes(call);
    append_axis(problem.batch,
                {.extent = batch[i], .a_stride = a_strides[i], .b_stride = b_strides[i]});
  }
  if (!problem.batch.empty() && !problem.transpose_a) {
    const MatmulProblem::Axis& inner = problem.batch.back();
    const std::int64_t rows = checked_product(problem.m, inner.extent);
    if (inner.b_stride == 0 && inner.a_stride == problem.m * problem.k &&
        rows <= std::numeric_limits<int>::max()) {
      problem.m = rows;
      problem.batch.pop_back();
    }
  }
  return problem;
}

}  // namespace sinter
