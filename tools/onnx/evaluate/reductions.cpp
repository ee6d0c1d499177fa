// Reductions, parts and repetitions of known values.
#include "tools/onnx/evaluate/evaluators.h"

namespace sinter::onnx {

namespace {

/// The product or sum of all elements: shapes are vectors, of which exporters reduce the only axis.
template <bool is_product>
KnownOutputs evaluate_reduction(const Call& call) {
  const KnownValue& x = call.known(0, "elements");
  if (x.rank() != 1 || !is_integer(x.dtype) || size_of(x.dtype) != 8) return std::nullopt;
  std::vector<std::int64_t> axes = call.attributes().integers("axes");
  if (call.has_input(1)) axes = call.integers(1, "axes");
  const bool is_noop = call.attributes().flag("noop_with_empty_axes", false);
  const bool keeps_axes = call.attributes().flag("keepdims", true);
  if (axes.empty() && is_noop) return std::nullopt;
  checked_axes(axes, 1);
  Extent total = is_product ? 1 : 0;
  for (const Number& item : x.items) total = is_product ? total * item.extent : total + item.extent;
  KnownValue result{.dtype = x.dtype, .items = {Number::of(total)}};
  if (keeps_axes) result.shape = {1};
  return std::vector{std::move(result)};
}

/// Parts of a vector.
KnownOutputs evaluate_split(const Call& call) {
  const KnownValue& x = call.known(0, "elements");
  if (x.rank() != 1) return std::nullopt;
  checked_axis(call.attributes().integer("axis", 0), 1);
  const auto outputs = static_cast<std::int64_t>(call.output_count());
  std::vector<std::int64_t> sizes = call.attributes().integers("split");
  if (call.has_input(1)) sizes = call.integers(1, "sizes");
  if (sizes.empty()) {
    if (outputs == 0 || x.shape[0] % outputs != 0) return std::nullopt;
    sizes.assign(static_cast<std::size_t>(outputs), x.shape[0] / outputs);
  }
  call.attributes().ignore("num_outputs");
  std::vector<KnownValue> parts;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0 || size > x.shape[0] - begin) return std::nullopt;
    const auto first = x.items.begin() + begin;
    parts.push_back({.dtype = x.dtype, .shape = {size}, .items = {first, first + size}});
    begin += size;
  }
  if (begin != x.shape[0] || parts.size() != call.output_count()) return std::nullopt;
  return parts;
}

/// The indices of elements other than 0, one column each.
KnownOutputs evaluate_non_zero(const Call& call) {
  const KnownValue& x = call.known(0, "elements");
  if (!x.is_fixed()) return std::nullopt;
  std::vector<std::vector<std::int64_t>> found;
  for (std::size_t i = 0; i < x.items.size(); ++i)
    if (x.items[i].as_real() != 0)
      found.push_back(unravel_index(x.shape, static_cast<std::int64_t>(i)));
  KnownValue result{.dtype = i64, .shape = {x.rank(), static_cast<std::int64_t>(found.size())}};
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis)
    for (const std::vector<std::int64_t>& index : found)
      result.items.push_back(Number::of(index[axis]));
  return std::vector{std::move(result)};
}

constexpr EvaluatorRow kReductionEvaluators[] = {
    {"NonZero", evaluate_non_zero},
    {"ReduceProd", evaluate_reduction<true>},
    {"ReduceSum", evaluate_reduction<false>},
    {"Split", evaluate_split},
};

}  // namespace

std::span<const EvaluatorRow> reduction_evaluators() { return kReductionEvaluators; }

}  // namespace sinter::onnx
