// Normalization layers: x minus its mean, scaled to variance 1, over some axes (rms_norm: scaled to
// mean square 1).
#include "ir/composites/widening.h"
#include "ir/record/composite.h"
#include "sinter/nn.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter {

namespace {

/// The axes `first`, …, `rank` - 1.
AxesVector axes_from(int first, int rank) {
  AxesVector result;
  for (int axis = first; axis < rank; ++axis) result.push_back(axis);
  return result;
}

/// Throws UserError unless `x` has at least `least` axes, [N, C, ...].
void check_channels(std::string_view op, const Operand& x, int least) {
  const Node& node = *x.tensor.node();
  if (node.rank() < least)
    fail(op,
         fmt::format("x is {}; it must be [N, C, ...] of rank {} or more", type_text(node), least),
         x.location);
}

/// Checks the parameters of one norm, such as its weight, and broadcasts them to its operand.
struct Parameters {
  std::string_view op;
  const Widening& to;
  const Operand& x;
  AxesVector axes;    ///< axes of x; their extents are the shape of a parameter
  ShapeVector shape;  ///< the shape in which a parameter broadcasts to the normalized values

  /// `parameter` reshaped so that it broadcasts to the normalized values; a literal is unchanged.
  Operand broadcastable(std::string_view role, const Operand& parameter) const {
    if (parameter.is_literal()) return parameter;
    check(role, parameter);
    const Operand wide = to.wide(parameter);
    return with_location(reshape(wide, shape), parameter);
  }

  /// Throws UserError unless `parameter` has the extents of `axes` of x.
  void check(std::string_view role, const Operand& parameter) const {
    const Node& given = node_of(op, parameter);
    ShapeVector expected;
    const Node& node = *x.tensor.node();
    for (const std::int64_t axis : axes)
      expected.push_back(node.shape[static_cast<std::size_t>(axis)]);
    if (!std::ranges::equal(given.shape, expected))
      fail(op,
           fmt::format("{} is {}; its shape must be {}, that of axes [{}] of x, which is {}", role,
                       type_text(given), to_string(std::span<const Extent>(expected)),
                       fmt::join(axes, ", "), type_text(node)),
           parameter.location);
  }
};

/// Parameters along `axes` for a norm whose result has x's shape.
Parameters along(std::string_view op, const Widening& to, const Operand& x,
                 const AxesVector& axes) {
  const Node& node = *x.tensor.node();
  ShapeVector shape;
  for (std::int64_t axis = 0; axis < node.rank(); ++axis) {
    const bool is_along = std::ranges::find(axes, axis) != axes.end();
    if (is_along || !shape.empty())
      shape.push_back(is_along ? node.shape[static_cast<std::size_t>(axis)] : Extent(1));
  }
  return {.op = op, .to = to, .x = x, .axes = axes, .shape = shape};
}

/// y · weight + bias; a literal weight of 1 and a literal bias of 0 are omitted.
Tensor affine(Tensor y, const Parameters& parameters, const Operand& weight, const Operand& bias) {
  const Operand factor = parameters.broadcastable("the weight", weight);
  const Operand summand = parameters.broadcastable("the bias", bias);
  const Tensor product = is_number(factor, 1) ? y : y * factor;
  return is_number(summand, 0) ? product : product + summand;
}

/// (x − mean) / √(var + eps)
Tensor normalized(const Operand& x, const VarMean& moments, double eps) {
  const Tensor scale = rsqrt(moments.var + eps);
  return (x - moments.mean) * scale;
}

}  // namespace

Tensor layer_norm(Operand x, Axes axes, Operand weight, Operand bias, double eps) {
  const LocationScope scope(x);
  const Widening to("layer_norm", {&x});
  const AxesVector over = axes_to_reduce("layer_norm", *x.tensor.node(), axes, x.location);
  const Operand wide = to.wide(x);
  const VarMean moments = var_mean(wide, over, 0, keep);
  const Tensor y = normalized(wide, moments, eps);
  return to.narrow(affine(y, along("layer_norm", to, x, over), weight, bias));
}

Tensor rms_norm(Operand x, Axes axes, Operand weight, std::optional<double> eps) {
  const LocationScope scope(x);
  const Widening to("rms_norm", {&x});
  const AxesVector over = axes_to_reduce("rms_norm", *x.tensor.node(), axes, x.location);
  const Operand wide = to.wide(x);
  const Tensor mean_square = mean(square(wide), over, keep);
  const double smallest = to.compute() == f64 ? 0x1p-52 : 0x1p-23;
  const Tensor scale = rsqrt(mean_square + eps.value_or(smallest));
  const Tensor y = wide * scale;
  return to.narrow(affine(y, along("rms_norm", to, x, over), weight, 0));
}

Tensor group_norm(Operand x, std::int64_t groups, Operand weight, Operand bias, double eps) {
  const LocationScope scope(x);
  const Widening to("group_norm", {&x});
  check_channels("group_norm", x, 2);
  const Node& node = *x.tensor.node();
  const std::optional<Extent> channels =
      groups < 1 ? std::nullopt : divide_exactly(node.shape[1], groups);
  if (!channels)
    fail("group_norm",
         fmt::format("the {} channels of x, which is {}, cannot form {} groups of equal size",
                     to_string(node.shape[1]), type_text(node), groups),
         x.location);
  // Computed as [N, groups, C / groups, ...].
  ShapeVector shape = {node.shape[0], groups, *channels};
  ShapeVector per_channel = {groups, *channels};
  for (const Extent extent : node.shape.subspan(2)) {
    shape.push_back(extent);
    per_channel.push_back(1);
  }
  const Tensor grouped = reshape(to.wide(x), shape);
  const AxesVector over = axes_from(2, node.rank() + 1);
  const VarMean moments = var_mean(grouped, over, 0, keep);
  const Tensor y = normalized(grouped, moments, eps);
  const Parameters parameters{
      .op = "group_norm", .to = to, .x = x, .axes = {1}, .shape = per_channel};
  return to.narrow(reshape(affine(y, parameters, weight, bias), node.shape));
}

Tensor instance_norm(Operand x, Operand weight, Operand bias, double eps) {
  const LocationScope scope(x);
  const Widening to("instance_norm", {&x});
  check_channels("instance_norm", x, 3);
  const AxesVector over = axes_from(2, x.tensor.rank());
  const Operand wide = to.wide(x);
  const VarMean moments = var_mean(wide, over, 0, keep);
  const Tensor y = normalized(wide, moments, eps);
  return to.narrow(affine(y, along("instance_norm", to, x, {1}), weight, bias));
}

namespace {

/// (1 − momentum) · old + momentum · now, in old's dtype.
Tensor running_average(const Operand& old, Tensor now, double momentum) {
  const Widening to("batch_norm", {&old});
  const Tensor kept = to.wide(old) * (1 - momentum);
  const Tensor added = now * momentum;
  return to.narrow(kept + added);
}

}  // namespace

BatchNorm batch_norm(Operand x, Operand running_mean, Operand running_var, Operand weight,
                     Operand bias, double momentum, double eps) {
  const LocationScope scope(x);
  const Widening to("batch_norm", {&x});
  check_channels("batch_norm", x, 2);
  const Parameters parameters = along("batch_norm", to, x, {1});
  parameters.check("the running mean", running_mean);
  parameters.check("the running variance", running_var);

  AxesVector over = axes_from(1, x.tensor.rank());
  over[0] = 0;
  const Axes axes = over;
  const Operand wide = to.wide(x);
  const VarMean moments = var_mean(wide, axes, 0, keep);
  const Tensor unbiased = var(wide, axes, 1, keep);
  const Tensor y = normalized(wide, moments, eps);
  BatchNorm result;
  result.y = to.narrow(affine(y, parameters, weight, bias));
  const Extent channels = x.tensor.shape()[1];
  result.mean = reshape(moments.mean, {channels});
  result.var = reshape(moments.var, {channels});
  result.running_mean = running_average(running_mean, result.mean, momentum);
  result.running_var = running_average(running_var, reshape(unbiased, {channels}), momentum);
  return result;
}

Tensor batch_norm_inference(Operand x, Operand mean, Operand var, Operand weight, Operand bias,
                            double eps) {
  const LocationScope scope(x);
  const Widening to("batch_norm_inference", {&x});
  check_channels("batch_norm_inference", x, 2);
  const Parameters parameters = along("batch_norm_inference", to, x, {1});
  parameters.check("the mean", mean);
  parameters.check("the variance", var);
  const Tensor center = parameters.broadcastable("the mean", mean).tensor;
  const Tensor variance = parameters.broadcastable("the variance", var).tensor;
  const Tensor y = normalized(to.wide(x), {.var = variance, .mean = center}, eps);
  return to.narrow(affine(y, parameters, weight, bias));
}

}  // namespace sinter
