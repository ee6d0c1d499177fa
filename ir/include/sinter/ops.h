// The recording functions: every row of the op table, the structural ops, and the composites.
#pragma once

#include <string_view>

#include "sinter/graph.h"

namespace sinter {

/// Whether a reduction leaves its axes behind with extent 1.
enum class Keep : bool { no, yes };
inline constexpr Keep keep = Keep::yes;

// Elementwise: numpy broadcasting; operands are cast to the dtype that they have in common, which a
// number takes too (ir/README.md, "Dtypes").
// clang-format off
#define UNARY(NAME, ...) Tensor NAME(Operand a);
#define BINARY(NAME, ...) Tensor NAME(Operand a, Operand b);
#define TERNARY(NAME, ...) Tensor NAME(Operand a, Operand b, Operand c);
#include "sinter/ops.def"
// clang-format on

inline Tensor operator-(Operand a) { return neg(a); }
inline Tensor operator+(Operand a, Operand b) { return add(a, b); }
inline Tensor operator-(Operand a, Operand b) { return sub(a, b); }
inline Tensor operator*(Operand a, Operand b) { return mul(a, b); }
inline Tensor operator/(Operand a, Operand b) { return div(a, b); }
inline Tensor operator<(Operand a, Operand b) { return lt(a, b); }
inline Tensor operator<=(Operand a, Operand b) { return le(a, b); }
inline Tensor operator>(Operand a, Operand b) { return gt(a, b); }
inline Tensor operator>=(Operand a, Operand b) { return ge(a, b); }
inline Tensor operator&(Operand a, Operand b) { return bitwise_and(a, b); }
inline Tensor operator|(Operand a, Operand b) { return bitwise_or(a, b); }
inline Tensor operator^(Operand a, Operand b) { return bitwise_xor(a, b); }
inline Tensor operator~(Operand a) { return bitwise_not(a); }

// Reductions over `axes` (negative ones count from the end; none: all axes).
Tensor sum(Operand x, Axes axes = {}, Keep keep = Keep::no);   // integers and bool give 64 bits
Tensor prod(Operand x, Axes axes = {}, Keep keep = Keep::no);  // likewise
Tensor max(Operand x, Axes axes = {}, Keep keep = Keep::no);
Tensor min(Operand x, Axes axes = {}, Keep keep = Keep::no);
Tensor any(Operand x, Axes axes = {}, Keep keep = Keep::no);  // bool
Tensor all(Operand x, Axes axes = {}, Keep keep = Keep::no);
Tensor mean(Operand x, Axes axes = {}, Keep keep = Keep::no);
/// Divides by n − correction: 0 gives the variance of the elements themselves, 1 (as in PyTorch)
/// the estimate for what they are drawn from.
Tensor var(Operand x, Axes axes = {}, int correction = 0, Keep keep = Keep::no);
/// log(Σ eˣ) without overflow: −inf of nothing and of nothing but −inf, inf where there is an inf.
Tensor logsumexp(Operand x, Axes axes = {}, Keep keep = Keep::no);
/// The first place of the extreme, in i64, or of NaN if there is one. Over several axes it counts
/// their elements in row-major order.
Tensor argmax(Operand x, Axes axes = {}, Keep keep = Keep::no);
Tensor argmin(Operand x, Axes axes = {}, Keep keep = Keep::no);
template <std::integral Axis>
Tensor argmax(Operand x, Axis axis, Keep keep = Keep::no) {
  return argmax(x, Axes({axis}), keep);
}
template <std::integral Axis>
Tensor argmin(Operand x, Axis axis, Keep keep = Keep::no) {
  return argmin(x, Axes({axis}), keep);
}

/// The extreme over axes and its first place, as argmax says; NaN and its place if there is one.
/// The value of a zero may differ in its sign from the element there: the places of +0 and -0 are
/// equal.
struct WithIndex {
  Tensor value;
  Tensor index;
};
WithIndex max_with_index(Operand x, Axes axes = {}, Keep keep = Keep::no);
WithIndex min_with_index(Operand x, Axes axes = {}, Keep keep = Keep::no);
template <std::integral Axis>
WithIndex max_with_index(Operand x, Axis axis, Keep keep = Keep::no) {
  return max_with_index(x, Axes({axis}), keep);
}
template <std::integral Axis>
WithIndex min_with_index(Operand x, Axis axis, Keep keep = Keep::no) {
  return min_with_index(x, Axes({axis}), keep);
}

/// Variance and mean over the same axes; the variance never uses E[x²] − E[x]².
struct VarMean {
  Tensor var;
  Tensor mean;
};
VarMean var_mean(Operand x, Axes axes = {}, int correction = 0, Keep keep = Keep::no);

// Scans along one axis: each element of the result is made from all elements up to its place.
struct ScanOptions {
  bool exclusive = false;  ///< without the element at the place itself
  bool reverse = false;    ///< from the place to the end
};
Tensor cumsum(Operand x, int axis, ScanOptions options = {});   // integers and bool give 64 bits
Tensor cumprod(Operand x, int axis, ScanOptions options = {});  // likewise
Tensor cummax(Operand x, int axis, ScanOptions options = {});
Tensor cummin(Operand x, int axis, ScanOptions options = {});

// Structural ops: index maps, no arithmetic.
Tensor cast(Operand x, DType to);
Tensor bitcast(Operand x, DType to);       // of the same size
Tensor reshape(Operand x, Extents shape);  // one extent may be -1
Tensor permute(Operand x, Axes axes);
Tensor broadcast_to(Operand x, Extents shape);
Tensor slice(Operand x, int axis, Extent begin, Extent end, int step = 1);
Tensor flip(Operand x, Axes axes);
/// Element offset + index · strides of x's elements in row-major order. Elements may be read more
/// than once.
Tensor as_strided(Operand x, Extents shape, Extents strides, Extent offset = 0);
/// Windows of `size` elements, `step` apart along `axis`: their number takes the place of the
/// extent, and a new last axis of extent `size` holds each window.
Tensor unfold(Operand x, int axis, std::int64_t size, std::int64_t step);
Tensor concat(std::span<const Operand> parts, int axis);
Tensor concat(std::initializer_list<Operand> parts, int axis);
Tensor concat(std::span<const Tensor> parts, int axis, const char* file = __builtin_FILE(),
              int line = __builtin_LINE());
/// x's slices along `axis` at `indices`: shape x[:axis] + indices + x[axis+1:]. Negative indices
/// wrap, others are clamped.
Tensor take(Operand x, Operand indices, int axis);
/// x[…, indices[…, i, …], …]; the shapes agree in every other axis.
Tensor take_along_axis(Operand x, Operand indices, int axis);

/// x [n, m] where, for each k in order, row `indices[k]` is replaced by row k of `source` [k, m],
/// or with `accumulate` increased by it, rounding every time. Indices outside [0, n) write nothing:
/// unlike in take, none wraps or is clamped. `index_put` and `scatter_add` are made of it.
Tensor scatter(Operand x, Operand indices, Operand source, bool accumulate);

// Sources need a Graph.
Tensor full(Graph& graph, Extents shape, Literal value, DType dtype,
            const char* file = __builtin_FILE(), int line = __builtin_LINE());
template <Arithmetic Number>
Tensor full(Graph& graph, Extents shape, Number value, DType dtype,
            const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return full(graph, shape, Literal::of(value), dtype, file, line);
}
Tensor iota(Graph& graph, Extent extent, std::int64_t start = 0, std::int64_t step = 1,
            DType dtype = i64, const char* file = __builtin_FILE(), int line = __builtin_LINE());

// Composites: functions written in ops. Those of several roundings compute halves in f32, as
// sinter/nn.h says, and round once: trigamma, sigmoid, gelu, softmax and log_softmax.
Tensor trigamma(Operand x);  // derivative of digamma
Tensor reciprocal(Operand x);
Tensor square(Operand x);
Tensor frac(Operand x);  // x - trunc(x), with x's sign; NaN of infinities, 0 of integers
Tensor relu(Operand x);  // integers stay integers, bool gives i64
Tensor sigmoid(Operand x);
Tensor gelu(Operand x);  // x / 2 * erfc(-x / sqrt(2))
Tensor softmax(Operand x, int axis = -1);
Tensor log_softmax(Operand x, int axis = -1);

}  // namespace sinter
