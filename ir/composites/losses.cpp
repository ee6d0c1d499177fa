// Losses. For accuracy, losses of probabilities take logits or log-probabilities.
#include "ir/composites/widening.h"
#include "ir/record/composite.h"
#include "sinter/nn.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter {

namespace {

Tensor reduced(Tensor losses, Reduction reduction) {
  switch (reduction) {
    case Reduction::none: return losses;
    case Reduction::sum: return sum(losses);
    case Reduction::mean: return mean(losses);
  }
  return losses;
}

/// Throws UserError unless `x` and `target` have one shape. Losses do not broadcast, because
/// different shapes are most likely a mistake.
void check_same_shape(std::string_view op, const Operand& x, const Operand& target) {
  graph_of(op, x);
  if (target.is_literal() || std::ranges::equal(x.tensor.shape(), target.tensor.shape())) return;
  fail(op,
       fmt::format("x is {} and the target {}; they must have one shape",
                   type_text(*x.tensor.node()), type_text(*target.tensor.node())),
       x.location);
}

/// x − target in the compute dtype.
Tensor difference(const Widening& to, const Operand& x, const Operand& target) {
  const Operand wide = to.wide(x);
  return wide - to.wide(target);
}

}  // namespace

Tensor mse_loss(Operand x, Operand target, Reduction reduction) {
  const LocationScope scope(x);
  check_same_shape("mse_loss", x, target);
  const Widening to("mse_loss", {&x, &target});
  return to.narrow(reduced(square(difference(to, x, target)), reduction));
}

Tensor l1_loss(Operand x, Operand target, Reduction reduction) {
  const LocationScope scope(x);
  check_same_shape("l1_loss", x, target);
  const Widening to("l1_loss", {&x, &target});
  return to.narrow(reduced(abs(difference(to, x, target)), reduction));
}

Tensor huber_loss(Operand x, Operand target, double delta, Reduction reduction) {
  const LocationScope scope(x);
  check_same_shape("huber_loss", x, target);
  if (!(delta > 0))
    fail("huber_loss", fmt::format("delta is {}; it must be positive", delta), x.location);
  const Widening to("huber_loss", {&x, &target});
  const Tensor distance = abs(difference(to, x, target));
  // One expression for both branches: d · (d − d/2) and delta · (d − delta/2).
  const Tensor bounded = minimum(distance, delta);
  return to.narrow(reduced(bounded * (distance - bounded * 0.5), reduction));
}

Tensor bce_with_logits(Operand x, Operand target, Reduction reduction) {
  const LocationScope scope(x);
  check_same_shape("bce_with_logits", x, target);
  const Widening to("bce_with_logits", {&x, &target});
  const Operand wide = to.wide(x);
  const Tensor product = wide * to.wide(target);
  const Tensor linear = maximum(0, wide) - product;
  const Tensor rest = log1p(exp(neg_abs(wide)));
  return to.narrow(reduced(linear + rest, reduction));
}

Tensor kl_div(Operand x, Operand target, bool log_target, Reduction reduction) {
  const LocationScope scope(x);
  check_same_shape("kl_div", x, target);
  graph_of("kl_div", target);
  const Widening to("kl_div", {&x, &target});
  const Operand wide = to.wide(x);
  const Operand goal = to.wide(target);
  Tensor weight = goal.tensor;
  Tensor logarithm = goal.tensor;
  if (log_target) {
    weight = exp(goal);
  } else {
    // A target of 0 contributes 0, so any finite logarithm may replace log(0).
    const Tensor is_zero = eq(goal, 0);
    logarithm = log(where(is_zero, 1, goal));
  }
  return to.narrow(reduced(weight * (logarithm - wide), reduction));
}

namespace {

/// Losses whose targets are class indices. Throws UserError if shapes or dtypes do not fit.
class ClassLoss {
 public:
  ClassLoss(std::string_view op, const Widening& to, const Operand& x, const Operand& targets,
            Tensor weight, std::int64_t ignore_index)
      : op_(op), to_(to), x_(x) {
    graph_of(op, x);
    graph_of(op, targets);
    check_shapes(targets, weight);
    const Tensor wide = cast(targets, i64);
    counts_ = ne(wide, ignore_index);
    shape_ = targets.tensor.shape();
    ShapeVector unsqueezed(shape_.begin(), shape_.end());
    unsqueezed.insert(unsqueezed.begin() + 1, Extent(1));
    index_ = reshape(wide, unsqueezed);
    if (!weight.node()) return;
    const Tensor chosen = take(weight, wide, 0);
    weights_ = to.wide(with_location(chosen, x)).tensor;
  }

  /// The elements of x at the targets: [N, 1, ...].
  Tensor picked() const {
    return to_.wide(with_location(take_along_axis(x_, index_, 1), x_)).tensor;
  }
  /// Reshapes `y` from [N, 1, ...] to the targets' shape.
  Tensor squeezed(Tensor y) const { return reshape(y, shape_); }
  /// `losses` times the class weights of the targets.
  Tensor weighted(Tensor losses) const { return weights_.node() ? losses * weights_ : losses; }

  /// Sets ignored losses to 0 and reduces. The mean divides by the sum of the counted weights.
  Tensor result(Tensor losses, Reduction reduction) const {
    const Tensor counted = where(counts_, losses, 0);
    if (reduction == Reduction::none) return to_.narrow(counted);
    const Tensor total = sum(counted);
    if (reduction == Reduction::sum) return to_.narrow(total);
    const Tensor share =
        weights_.node() ? sum(where(counts_, weights_, 0)) : cast(sum(counts_), to_.compute());
    return to_.narrow(total / share);
  }

 private:
  void check_shapes(const Operand& targets, Tensor weight) const {
    const Node& x = *x_.tensor.node();
    const Node& chosen = *targets.tensor.node();
    ShapeVector expected(x.shape.begin(), x.shape.end());
    if (x.rank() >= 2) expected.erase(expected.begin() + 1);
    if (x.rank() < 2 || !std::ranges::equal(chosen.shape, expected) || !is_integer(chosen.dtype))
      fail(op_,
           fmt::format("x is {} and the targets {}; they must be [N, C, ...] and integers "
                       "[N, ...]",
                       type_text(x), type_text(chosen)),
           x_.location);
    const bool fits = !weight.node() || (weight.rank() == 1 && weight.shape()[0] == x.shape[1]);
    if (!fits)
      fail(op_,
           fmt::format("the weight is {}; it must be [{}], a number for each class of x, which "
                       "is {}",
                       type_text(*weight.node()), to_string(x.shape[1]), type_text(x)),
           x_.location);
  }

  std::string_view op_;
  const Widening& to_;
  const Operand& x_;
  std::span<const Extent> shape_;  ///< of the targets
  Tensor index_;                   ///< the targets as [N, 1, ...]
  Tensor counts_;                  ///< false for an ignored target
  Tensor weights_;                 ///< of the targets; an empty Tensor means 1
};

}  // namespace

Tensor cross_entropy(Operand logits, Operand targets, const CrossEntropyOptions& options) {
  const LocationScope scope(logits);
  const double smoothing = options.label_smoothing;
  if (!(smoothing >= 0 && smoothing <= 1))
    fail("cross_entropy", fmt::format("label_smoothing is {}; it must be in [0, 1]", smoothing),
         logits.location);
  const Widening to("cross_entropy", {&logits});
  const ClassLoss loss("cross_entropy", to, logits, targets, options.weight, options.ignore_index);
  const Operand wide = to.wide(logits);
  // The gradient treats the subtracted value as a constant, as in log_softmax.
  const Tensor largest = stop_gradient(max(wide, {1}, keep));
  const Tensor shifted = wide - largest;
  const Tensor normalizer = log(sum(exp(shifted), {1}, keep));
  const Tensor of_target = loss.picked() - largest;
  Tensor losses = loss.weighted(loss.squeezed(normalizer - of_target));
  if (smoothing > 0) {
    Tensor of_classes = normalizer - shifted;
    if (options.weight.node()) {
      ShapeVector shape(logits.tensor.shape().size() - 1, Extent(1));
      shape[0] = options.weight.shape()[0];
      const Operand weight = to.wide(with_location(options.weight, logits));
      of_classes = of_classes * reshape(weight, shape);
    }
    const Tensor shared = loss.squeezed(mean(of_classes, {1}, keep)) * smoothing;
    losses = losses * (1 - smoothing) + shared;
  }
  return loss.result(losses, options.reduction);
}

Tensor nll_loss(Operand x, Operand targets, const NllOptions& options) {
  const LocationScope scope(x);
  const Widening to("nll_loss", {&x});
  const ClassLoss loss("nll_loss", to, x, targets, options.weight, options.ignore_index);
  return loss.result(loss.weighted(loss.squeezed(neg(loss.picked()))), options.reduction);
}

}  // namespace sinter
