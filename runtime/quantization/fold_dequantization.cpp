// fold_dequantization: products of 8-bit operands instead of dequantised ones.
#include "compiler/simplify/graph_sweep.h"
#include "ir/composites/padded_matmul.h"
#include "ir/library_ops/conv_shape.h"
#include "ir/text/print.h"
#include "runtime/quantization/dequantized.h"
#include "runtime/quantization/weight_values.h"
#include "sinter/library_ops.h"
#include "sinter/quantization.h"
#include "sinter/views.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

namespace sinter {

namespace {

/// Of k and n, as cuBLASLt needs for f8.
constexpr std::int64_t kMultipleOfF8 = 16;

/// The replacement of a product, or the reason why there is none.
struct Folded {
  Tensor product;
  std::string reason;
};

bool is_transposed(const Node& product, std::size_t index) {
  return attribute(product, index == 0 ? "transpose_a" : "transpose_b").integer != 0;
}

/// A parameter of an operand as one of the product, whose last two axes are not swapped.
Tensor as_in_product(const Tensor& parameter, bool swaps) {
  return swaps && !is_one_number(parameter) ? transpose(parameter, -2, -1) : parameter;
}

Folded fold_matmul(const Node& node, const Dequantized& a, const Dequantized& b,
                   const Operand& at) {
  const bool swaps_a = is_transposed(node, 0);
  const bool swaps_b = is_transposed(node, 1);
  const std::int64_t axis_of_a = swaps_a ? -2 : -1;
  const std::int64_t axis_of_b = swaps_b ? -1 : -2;
  if (!is_equal_along(a.scale, axis_of_a, a.levels.rank()) ||
      !is_equal_along(b.scale, axis_of_b, b.levels.rank()))
    return {.product = {}, .reason = "a scale differs along the summed axis"};
  if (!is_equal_along(a.zero_point, axis_of_a, a.levels.rank()) ||
      !is_equal_along(b.zero_point, axis_of_b, b.levels.rank()))
    return {.product = {}, .reason = "a zero point differs along the summed axis"};
  const Operand left(a.levels, at.location.file, at.location.line);
  const Operand right(b.levels, at.location.file, at.location.line);
  const Tensor scale = as_in_product(a.scale, swaps_a) * as_in_product(b.scale, swaps_b);
  if (is_f8(a.levels.dtype()) != is_f8(b.levels.dtype()))
    return {.product = {}, .reason = "one operand is an integer, the other one is not"};
  const Tensor sums =
      is_f8(a.levels.dtype())
          ? padded_matmul(left, right,
                          {.transpose_a = swaps_a, .transpose_b = swaps_b, .result = f32},
                          kMultipleOfF8)
          : cast(integer_matmul(left, right,
                                {.transpose_a = swaps_a,
                                 .transpose_b = swaps_b,
                                 .zero_a = a.zero_point,
                                 .zero_b = b.zero_point}),
                 f32);
  return {.product = sums * scale, .reason = {}};
}

/// True if `zero_point` is in the range of `dtype`.
bool is_a_level(const Tensor& zero_point, DType dtype) {
  if (!zero_point.node()) return true;
  const Node* node = zero_point.node();
  while (node->dtype != dtype && (node->op == Op::cast || node->op == Op::reshape))
    node = node->operand(0);
  if (node->dtype == dtype) return true;
  if (node->op != Op::constant) return false;
  const std::int64_t value = attribute(*node, "value").literal.integer;
  return dtype == u8 ? 0 <= value && value <= 255 : -128 <= value && value <= 127;
}

Folded fold_conv(const Node& node, const Dequantized& x, const Dequantized& w, const Operand& at) {
  if (is_f8(x.levels.dtype()) || is_f8(w.levels.dtype()))
    return {.product = {}, .reason = "convolutions in f8 do not exist"};
  if (!is_one_number(x.scale) || !is_one_number(x.zero_point))
    return {.product = {}, .reason = "the scale or zero point of its x is no single number"};
  for (int axis = 1; axis < w.levels.rank(); ++axis)
    if (!is_equal_along(w.scale, axis, w.levels.rank()) ||
        !is_equal_along(w.zero_point, axis, w.levels.rank()))
      return {.product = {}, .reason = "the filters differ in scale or zero point within a filter"};
  const Extent filters[] = {w.levels.shape()[0]};
  IntegerConvOptions options;
  static_cast<ConvOptions&>(options) = conv_options(node);
  const bool is_padded = std::ranges::any_of(options.padding_begin, std::identity()) ||
                         std::ranges::any_of(options.padding_end, std::identity());
  if (is_padded && !is_a_level(x.zero_point, x.levels.dtype()))
    return {.product = {}, .reason = "the zero point of its x, which pads it, may be no level"};
  options.zero_x = x.zero_point;
  options.zero_w = is_one_number(w.zero_point) ? w.zero_point : reshape(w.zero_point, filters);
  const Tensor sums =
      cast(integer_conv(Operand(x.levels, at.location.file, at.location.line),
                        Operand(w.levels, at.location.file, at.location.line), options),
           f32);
  Tensor scale = w.scale;
  if (!is_one_number(scale)) {
    std::vector<Extent> per_filter(static_cast<std::size_t>(node.rank()) - 1, 1);
    per_filter[0] = filters[0];
    scale = reshape(scale, per_filter);
  }
  return {.product = sums * (x.scale * scale), .reason = {}};
}

}  // namespace

QuantizedGraph fold_dequantization(const Graph& graph) {
  QuantizedGraph result{.graph = clone(graph), .skipped = {}};
  GraphData& data = result.graph.data();
  const ValueNames names(data);
  std::vector<std::string> named;
  for (const Node* node : data.nodes) named.push_back(names.of(node));
  sweep(data, [&](const Node& node, std::span<const Node* const> operands) {
    const Node* own = with_operands(data, node, operands);
    if (!is_floating_product(node)) return own;
    const std::optional<Dequantized> left = dequantized_value(data, operands[0]);
    const std::optional<Dequantized> right = dequantized_value(data, operands[1]);
    if (!left || !right) {
      if (left || right)
        result.skipped.push_back(
            {.value = named[node.id], .reason = "only one operand is dequantised"});
      return own;
    }
    const Operand at = operand_at(data, own, &node);
    Folded folded = node.op == Op::conv ? fold_conv(node, *left, *right, at)
                                        : fold_matmul(node, *left, *right, at);
    if (!folded.product.node()) {
      result.skipped.push_back({.value = named[node.id], .reason = std::move(folded.reason)});
      return own;
    }
    ++result.products;
    return cast(folded.product, node.dtype).node();
  });
  result.graph = clone(result.graph);
  return result;
}

}  // namespace sinter
