#include "runtime/quantization/dequantized.h"

#include "ir/graph/operand_index.h"
#include "ir/record/record.h"

#include <algorithm>
#include <cmath>

namespace sinter {

namespace {

bool is_level_dtype(DType dtype) { return dtype == i8 || dtype == u8 || is_f8(dtype); }

bool is_wide_floating(DType dtype) { return is_floating(dtype) && size_of(dtype) > 1; }

/// True if a cast to `dtype` keeps every 8-bit number of `levels`.
bool keeps_levels(DType levels, DType dtype) {
  if (is_floating(dtype)) return is_wide_floating(dtype);
  return !is_f8(levels) && is_signed(dtype) && size_of(dtype) > 1;
}

/// True for dtypes in which a level minus a zero point is exact.
bool holds_shifted_levels(DType dtype) {
  return dtype == f32 || dtype == f64 || dtype == i32 || dtype == i64;
}

/// The 8-bit value that `node` is a cast of, with the same numbers; nullptr if there is none.
const Node* levels_of(const Node* node) {
  llvm::SmallVector<DType, 4> dtypes;
  for (; node->op == Op::cast && !is_level_dtype(node->dtype); node = node->operand(0))
    dtypes.push_back(node->dtype);
  const bool are_levels =
      is_level_dtype(node->dtype) && !dtypes.empty() &&
      std::ranges::all_of(dtypes, [&](DType dtype) { return keeps_levels(node->dtype, dtype); });
  return are_levels ? node : nullptr;
}

/// `parameter` with the rank of `levels`, without repeated elements; nullopt if it has more
/// elements than `levels`.
std::optional<Tensor> in_rank_of_levels(GraphData& graph, const Node* parameter,
                                        const Node& levels) {
  while (parameter->op == Op::broadcast_to) parameter = parameter->operand(0);
  const Tensor value = tensor(graph, parameter);
  if (parameter->rank() > levels.rank()) return std::nullopt;
  if (product(parameter->shape).is(1)) return reshape(value, Extents());
  if (parameter->rank() == levels.rank()) return value;
  ShapeVector shape(static_cast<std::size_t>(levels.rank() - parameter->rank()), 1);
  shape.append(parameter->shape.begin(), parameter->shape.end());
  return reshape(value, shape);
}

/// A zero point as an integer; nullptr if it may have a fraction.
const Node* integer_of(GraphData& graph, const Node* zero_point) {
  while (is_wide_floating(zero_point->dtype) &&
         (zero_point->op == Op::cast || zero_point->op == Op::broadcast_to))
    zero_point = zero_point->operand(0);
  if (is_integer(zero_point->dtype)) return zero_point;
  if (zero_point->op != Op::constant) return nullptr;
  const double number = as_real(attribute(*zero_point, "value").literal);
  constexpr double kMost = 1 << 20;
  if (!(std::abs(number) <= kMost) || number != std::trunc(number)) return nullptr;
  return constant(graph, "dequantize", Literal::of(static_cast<std::int64_t>(number)), i32,
                  graph.location(zero_point));
}

std::optional<Dequantized> match_product(GraphData& graph, const Node* shifted,
                                         const Node* factor) {
  if (!is_floating(factor->dtype)) return std::nullopt;
  const Node* zero_point = nullptr;
  const Node* levels = levels_of(shifted);
  if (!levels) {
    while (shifted->op == Op::cast && holds_shifted_levels(shifted->dtype))
      shifted = shifted->operand(0);
    if (shifted->op != Op::sub || !holds_shifted_levels(shifted->dtype)) return std::nullopt;
    levels = levels_of(shifted->operand(0));
    zero_point = integer_of(graph, shifted->operand(1));
    if (!zero_point) return std::nullopt;
  }
  if (!levels) return std::nullopt;
  if (zero_point && is_f8(levels->dtype)) return std::nullopt;
  const std::optional<Tensor> scale = in_rank_of_levels(graph, factor, *levels);
  if (!scale) return std::nullopt;
  Dequantized result{.levels = tensor(graph, levels), .zero_point = {}, .scale = cast(*scale, f32)};
  if (zero_point) {
    const std::optional<Tensor> zero = in_rank_of_levels(graph, zero_point, *levels);
    if (!zero) return std::nullopt;
    result.zero_point = *zero;
  }
  return result;
}

/// `parts` of the operand of `view`, a reshape or permutation, as parts of the view.
std::optional<Dequantized> through_view(const Node& view, Dequantized parts) {
  if (view.op == Op::reshape) {
    if (!is_one_number(parts.scale) || !is_one_number(parts.zero_point)) return std::nullopt;
    parts.levels = reshape(parts.levels, view.shape);
    return parts;
  }
  const std::span<const std::int64_t> axes = attribute(view, "axes").integers;
  for (Tensor* part : {&parts.levels, &parts.zero_point, &parts.scale})
    if (part->node() && part->rank() > 0) *part = permute(*part, Axes(axes));
  return parts;
}

}  // namespace

std::optional<Dequantized> dequantized_value(GraphData& graph, const Node* node) {
  llvm::SmallVector<const Node*, 4> views;  // the last one first
  for (;; node = node->operand(0)) {
    if (node->op == Op::reshape || node->op == Op::permute)
      views.push_back(node);
    else if (node->op != Op::cast || !is_wide_floating(node->dtype) ||
             !is_wide_floating(node->operand(0)->dtype))
      break;
  }
  if (node->op != Op::mul) return std::nullopt;
  for (const std::size_t side : {0U, 1U}) {
    std::optional<Dequantized> parts =
        match_product(graph, node->operand(side), node->operand(1 - side));
    if (!parts || !std::ranges::equal(parts->levels.shape(), node->shape)) continue;
    for (std::size_t i = views.size(); i-- > 0 && parts;)
      parts = through_view(*views[i], std::move(*parts));
    return parts;
  }
  return std::nullopt;
}

bool is_equal_along(const Tensor& parameter, std::int64_t axis, int rank) {
  if (is_one_number(parameter)) return true;
  const auto from_front = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  return parameter.shape()[from_front].is(1);
}

bool is_one_number(const Tensor& parameter) { return !parameter.node() || parameter.rank() == 0; }

}  // namespace sinter
