// Einsum: sums of products along named axes.
#include "ir/text/lexer.h"
#include "sinter/views.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/op_table.h"
#include "tools/onnx/ops/products/matrix_product.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// A value whose axis i has the name axes[i]. Axes of an ellipsis have the names 0, 1, … counted
/// from the right.
struct NamedAxes {
  Tensor value;
  std::string axes;
};

bool is_axis_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The names of one term such as `b...ij`, in which the ellipsis replaces `count` axes.
std::string expanded(std::string_view term, std::size_t count) {
  if (count > 10) refuse("an ellipsis replaces more than 10 axes");
  std::string axes;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term.substr(i, 3) == "...") {
      for (std::size_t k = count; k > 0; --k) axes += static_cast<char>('0' + k - 1);
      i += 2;
    } else if (is_axis_letter(term[i])) {
      axes += term[i];
    } else {
      refuse(fmt::format("the equation has a '{}'; terms have letters and at most one ...",
                         printable(term.substr(i, 1))));
    }
  }
  return axes;
}

bool has_ellipsis(std::string_view term) { return term.find("...") != term.npos; }

std::size_t letters_of(std::string_view term) {
  return static_cast<std::size_t>(std::ranges::count_if(term, is_axis_letter));
}

/// Replaces repeated axes by their diagonal.
NamedAxes with_distinct_axes(const Call& call, NamedAxes x) {
  for (std::size_t i = 0; i < x.axes.size(); ++i) {
    const std::size_t again = x.axes.find(x.axes[i], i + 1);
    if (again == x.axes.npos) continue;
    const Tensor at = iota(call.graph(), x.value.shape()[i]);
    const std::vector<Tensor> positions{at, at};
    // The diagonal comes in the place of adjacent axes, so the second one moves beside the first.
    std::vector<std::int64_t> order;
    for (std::size_t axis = 0; axis < x.axes.size(); ++axis) {
      if (axis != again) order.push_back(static_cast<std::int64_t>(axis));
      if (axis == i) order.push_back(static_cast<std::int64_t>(again));
    }
    const auto first = static_cast<std::int64_t>(i);
    x.value = index(permute(x.value, order), positions, {first, first + 1});
    x.axes.erase(again, 1);
    --i;
  }
  return x;
}

/// x with axes in the order of `axes`; missing ones get the extent 1.
Tensor arranged(const NamedAxes& x, std::string_view axes) {
  std::vector<std::int64_t> order;
  std::vector<Extent> shape;
  for (const char axis : axes) {
    const std::size_t at = x.axes.find(axis);
    if (at != x.axes.npos) order.push_back(static_cast<std::int64_t>(at));
    shape.push_back(at == x.axes.npos ? Extent(1) : x.value.shape()[at]);
  }
  return reshape(permute(x.value, order), shape);
}

/// Sums over the axes that are not in `kept`.
NamedAxes summed(const NamedAxes& x, std::string_view kept) {
  std::vector<std::int64_t> axes;
  NamedAxes result = x;
  for (std::size_t i = x.axes.size(); i-- > 0;) {
    if (kept.find(x.axes[i]) != kept.npos) continue;
    axes.push_back(static_cast<std::int64_t>(i));
    result.axes.erase(i, 1);
  }
  if (!axes.empty()) result.value = cast(sum(x.value, axes), x.value.dtype());
  return result;
}

bool has_axis(const NamedAxes& x, char axis) { return x.axes.find(axis) != x.axes.npos; }

/// The product of a and b, summed over the axes that only they have. `kept` are the axes of the
/// result and of later operands.
NamedAxes multiplied(const NamedAxes& first, const NamedAxes& second, std::string_view kept) {
  const NamedAxes a = summed(first, std::string(kept) + second.axes);
  const NamedAxes b = summed(second, std::string(kept) + first.axes);
  std::string batch;  // in both, and kept
  std::string common;
  std::string rows;
  std::string columns;
  for (const char axis : a.axes) {
    if (!has_axis(b, axis))
      rows += axis;
    else if (kept.find(axis) != kept.npos)
      batch += axis;
    else
      common += axis;
  }
  for (const char axis : b.axes)
    if (!has_axis(a, axis)) columns += axis;
  if (common.empty()) {
    const std::string axes = batch + rows + columns;
    return {.value = arranged(a, axes) * arranged(b, axes), .axes = axes};
  }
  const Tensor left = arranged(a, batch + rows + common);
  const Tensor right = arranged(b, batch + common + columns);
  const auto merged = [](const Tensor& x, std::size_t begin, std::size_t first_count) {
    std::vector<Extent> shape(x.shape().begin(), x.shape().begin() + static_cast<int>(begin));
    Extent one = 1;
    Extent two = 1;
    for (std::size_t i = begin; i < x.shape().size(); ++i)
      (i < begin + first_count ? one : two) = (i < begin + first_count ? one : two) * x.shape()[i];
    shape.push_back(one);
    shape.push_back(two);
    return reshape(x, shape);
  };
  const Tensor product = matrix_product(merged(left, batch.size(), rows.size()),
                                        merged(right, batch.size(), common.size()));
  std::vector<Extent> shape(product.shape().begin(), product.shape().end() - 2);
  for (const char axis : rows) shape.push_back(a.value.shape()[a.axes.find(axis)]);
  for (const char axis : columns) shape.push_back(b.value.shape()[b.axes.find(axis)]);
  return {.value = reshape(product, shape), .axes = batch + rows + columns};
}

/// The terms of the left side, separated by commas.
std::vector<std::string> split_terms(std::string_view text) {
  std::vector<std::string> terms(1);
  for (const char c : text) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  return terms;
}

/// Without `->`: the ellipsis, and then the letters that occur once, in alphabetical order.
std::string implied_result(const std::vector<std::string>& terms) {
  std::string all;
  bool has_dots = false;
  for (const std::string& term : terms) {
    all += term;
    has_dots |= has_ellipsis(term);
  }
  std::string result;
  for (const char c : all)
    if (is_axis_letter(c) && std::ranges::count(all, c) == 1) result += c;
  std::ranges::sort(result);
  return has_dots ? "..." + result : result;
}

Outputs record_einsum(const Call& call) {
  require_inputs(call, 1, 64);
  require_one_dtype(call);
  std::string equation = call.attributes().text("equation");
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  const std::vector<std::string> terms = split_terms(equation.substr(0, arrow));
  const std::string result =
      arrow == equation.npos ? implied_result(terms) : equation.substr(arrow + 2);
  if (terms.size() != call.input_count())
    refuse(
        fmt::format("its equation has {} terms for {} inputs", terms.size(), call.input_count()));
  std::vector<NamedAxes> operands;
  std::size_t most_dots = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Tensor x = call.tensor(i);
    const std::size_t letters = letters_of(terms[i]);
    const auto rank = static_cast<std::size_t>(x.rank());
    if (letters > rank || (!has_ellipsis(terms[i]) && letters != rank))
      refuse(fmt::format("term {} of its equation does not fit an input of rank {}", i, rank));
    const std::size_t dots = rank - letters;
    most_dots = std::max(most_dots, dots);
    operands.push_back(with_distinct_axes(call, {.value = x, .axes = expanded(terms[i], dots)}));
  }
  const std::string axes = expanded(result, most_dots);
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes.find(axes[i], i + 1) != axes.npos ||
        std::ranges::none_of(operands, [&](const NamedAxes& x) { return has_axis(x, axes[i]); }))
      refuse(fmt::format("axis {} of the result is repeated, or in no term", axes[i]));
  NamedAxes product = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) {
    std::string kept = axes;
    for (std::size_t later = i + 1; later < operands.size(); ++later) kept += operands[later].axes;
    product = multiplied(product, operands[i], kept);
  }
  return {arranged(summed(product, axes), axes)};
}

constexpr OpRow kEinsum[] = {{"Einsum", record_einsum}};

}  // namespace

std::span<const OpRow> einsum_ops() { return kEinsum; }

}  // namespace sinter::onnx
