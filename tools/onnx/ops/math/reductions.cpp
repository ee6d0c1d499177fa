// Reductions over axes.
#include "sinter/nn.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/op_table.h"

#include <numeric>

namespace sinter::onnx {

namespace {

/// The reduced axes, and whether they are kept with extent 1.
struct ReducedAxes {
  std::vector<std::int64_t> axes;
  Keep keep_axes = Keep::yes;
};

/// Axes are an attribute up to `last_attribute_opset`, then an optional input. No axes means all
/// axes, or none with noop_with_empty_axes: then the steps before and after the reduction remain.
ReducedAxes reduced_axes_of(const Call& call, std::int64_t last_attribute_opset) {
  require_inputs(call, 1, 2);
  const int rank = call.rank(0);
  ReducedAxes result{.keep_axes = call.attributes().flag("keepdims", true) ? Keep::yes : Keep::no};
  const bool is_input = call.opset() > last_attribute_opset;
  const bool is_noop = is_input && call.attributes().flag("noop_with_empty_axes", false);
  std::vector<std::int64_t> axes;
  if (is_input && call.has_input(1)) axes = call.integers(1, "axes");
  if (!is_input) axes = call.attributes().integers("axes");
  if (axes.empty() && is_noop) return result;
  if (axes.empty()) {
    axes.resize(static_cast<std::size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  result.axes = checked_axes(axes, rank);
  return result;
}

constexpr std::int64_t kSumAttributeOpset = 12;    // ReduceSum
constexpr std::int64_t kOtherAttributeOpset = 17;  // all other reductions

/// A reduction of the elements after `before`, with `after` applied to the result. The result has
/// the dtype of the input.
struct ReductionFormula {
  Tensor (*before)(Operand) = nullptr;
  Tensor (*reduce)(Operand, Axes, Keep) = nullptr;
  Tensor (*after)(Operand) = nullptr;
  std::int64_t last_attribute_opset = kOtherAttributeOpset;
};

Tensor reduced(const Tensor& x, const ReducedAxes& how, Tensor (*reduce)(Operand, Axes, Keep)) {
  // A value of rank 0 has no axes to reduce.
  if (how.axes.empty()) return x;
  return reduce(x, how.axes, how.keep_axes);
}

Outputs record_formula(const Call& call, const ReductionFormula& formula) {
  const ReducedAxes how = reduced_axes_of(call, formula.last_attribute_opset);
  const Tensor x = call.tensor(0);
  Tensor value = x;
  // Narrow floats would round the squares and exponentials.
  if ((formula.before || formula.after) && is_floating(x.dtype()) && is_narrow(x.dtype()))
    value = cast(value, f32);
  if (formula.before) value = formula.before(value);
  value = reduced(value, how, formula.reduce);
  if (formula.after) value = formula.after(value);
  return {value.dtype() == x.dtype() ? value : cast(value, x.dtype())};
}

/// max and min keep bool, which ONNX reduces since opset 20.
Tensor max_of_any(Operand x, Axes axes, Keep keep_axes) {
  if (x.tensor.dtype() == boolean) return any(x, axes, keep_axes);
  return max(x, axes, keep_axes);
}
Tensor min_of_any(Operand x, Axes axes, Keep keep_axes) {
  if (x.tensor.dtype() == boolean) return all(x, axes, keep_axes);
  return min(x, axes, keep_axes);
}

/// The mean of integers is rounded towards 0.
Tensor mean_of_any(Operand x, Axes axes, Keep keep_axes) {
  if (is_floating(x.tensor.dtype())) return mean(x, axes, keep_axes);
  return mean(cast(x, f64), axes, keep_axes);
}

/// Roots and logarithms of integers are computed in f64, and rounded towards 0.
Tensor sqrt_of_any(Operand x) { return sqrt(is_floating(x.tensor.dtype()) ? x : cast(x, f64)); }
Tensor log_of_any(Operand x) { return log(is_floating(x.tensor.dtype()) ? x : cast(x, f64)); }

Outputs record_reduce_sum(const Call& call) {
  return record_formula(call, {.reduce = sum, .last_attribute_opset = kSumAttributeOpset});
}
Outputs record_reduce_prod(const Call& call) { return record_formula(call, {.reduce = prod}); }
Outputs record_reduce_mean(const Call& call) {
  return record_formula(call, {.reduce = mean_of_any});
}
Outputs record_reduce_max(const Call& call) { return record_formula(call, {.reduce = max_of_any}); }
Outputs record_reduce_min(const Call& call) { return record_formula(call, {.reduce = min_of_any}); }
Outputs record_reduce_l1(const Call& call) {
  return record_formula(call, {.before = abs, .reduce = sum});
}
Outputs record_reduce_l2(const Call& call) {
  return record_formula(call, {.before = square, .reduce = sum, .after = sqrt_of_any});
}
Outputs record_reduce_sum_square(const Call& call) {
  return record_formula(call, {.before = square, .reduce = sum});
}
Outputs record_reduce_log_sum(const Call& call) {
  return record_formula(call, {.reduce = sum, .after = log_of_any});
}

Outputs record_reduce_log_sum_exp(const Call& call) {
  const ReducedAxes how = reduced_axes_of(call, kOtherAttributeOpset);
  const Tensor x = call.tensor(0);
  if (how.axes.empty()) return {x};
  const Tensor real = is_floating(x.dtype()) ? x : cast(x, f64);
  return {cast(reduced(real, how, logsumexp), x.dtype())};
}

/// The first or last index of the largest or smallest element.
template <Tensor (*function)(Operand, Axes, Keep)>
Outputs record_index_of(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  const int axis = checked_axis(call.attributes().integer("axis", 0), x.rank());
  const Keep keep_axes = call.attributes().flag("keepdims", true) ? Keep::yes : Keep::no;
  if (!call.attributes().flag("select_last_index", false)) return {function(x, {axis}, keep_axes)};
  const Extent extent = x.shape()[static_cast<std::size_t>(axis)];
  const Tensor last = call.size_value(extent - 1);
  return {last - function(flip(x, {axis}), {axis}, keep_axes)};
}

constexpr OpRow kReductions[] = {
    {"ArgMax", record_index_of<argmax>},     {"ArgMin", record_index_of<argmin>},
    {"ReduceL1", record_reduce_l1},          {"ReduceL2", record_reduce_l2},
    {"ReduceLogSum", record_reduce_log_sum}, {"ReduceLogSumExp", record_reduce_log_sum_exp},
    {"ReduceMax", record_reduce_max},        {"ReduceMean", record_reduce_mean},
    {"ReduceMin", record_reduce_min},        {"ReduceProd", record_reduce_prod},
    {"ReduceSum", record_reduce_sum},        {"ReduceSumSquare", record_reduce_sum_square},
};

}  // namespace

std::span<const OpRow> reduction_ops() { return kReductions; }

}  // namespace sinter::onnx
