// Composites: functions written in ops. Gradient and fusion come free.
#include "ir/node.h"
#include "sinter/ops.h"

namespace sinter {

namespace {

/// While it lives, what is recorded gets the place of the user's call and not of the lines below.
class CalledAt {
 public:
  explicit CalledAt(const Operand& x)
      : graph_(x.tensor.graph()),
        first_(graph_ ? graph_->nodes.size() : 0),
        location_(x.location) {}
  CalledAt(const CalledAt&) = delete;
  CalledAt& operator=(const CalledAt&) = delete;
  ~CalledAt() {
    if (graph_) graph_->set_locations(first_, location_);
  }

 private:
  GraphData* graph_;
  std::size_t first_;
  Location location_;
};

Operand number(double value, const Operand& beside) {
  return {Literal{.kind = Literal::Kind::real, .integer = 0, .real = value}, beside.location};
}

}  // namespace

Tensor reciprocal(Operand x) { return div(number(1.0, x), x); }
Tensor square(Operand x) { return mul(x, x); }
Tensor relu(Operand x) { return maximum(x, number(0.0, x)); }

Tensor sigmoid(Operand x) {
  const CalledAt place(x);
  // For large negative x, exp(-x) is infinite and the quotient is a correct 0.
  return reciprocal(exp(neg(x)) + 1.0);
}

Tensor gelu(Operand x) {
  const CalledAt place(x);
  constexpr double kSqrtHalf = 0.7071067811865476;
  // In two statements: a compiler may evaluate the operands of one in any order, and the order of
  // recording must not depend on it.
  const Tensor twice_share = erf(x * kSqrtHalf) + 1.0;
  return x * 0.5 * twice_share;
}

Tensor softmax(Operand x, int axis) {
  const CalledAt place(x);
  // The largest element is taken off so that exp never overflows.
  const Tensor e = exp(x - max(x, {axis}, keep));
  return e / sum(e, {axis}, keep);
}

Tensor log_softmax(Operand x, int axis) {
  const CalledAt place(x);
  const Tensor shifted = x - max(x, {axis}, keep);
  return shifted - log(sum(exp(shifted), {axis}, keep));
}

}  // namespace sinter
