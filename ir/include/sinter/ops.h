// The recording functions: all rows of the op table, and basic composites.
#pragma once

#include <string_view>

#include "sinter/graph.h"

namespace sinter {

/// `yes`: a reduction keeps the reduced axes, with extent 1.
enum class Keep : bool { no, yes };
inline constexpr Keep keep = Keep::yes;

// Elementwise ops. Operands broadcast as in NumPy, and are cast to their common dtype. A number
// takes the dtype of the Tensors (docs/internals/ir.md, "Dtypes").
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

// Reductions over `axes`. Negative axes count from the end; no axes means all axes.

/// The sum, in i64 or u64 for integers and bool. The sum of no elements is 0.
Tensor sum(Operand x, Axes axes = {}, Keep keep = Keep::no);
/// The product, in i64 or u64 for integers and bool. The product of no elements is 1.
Tensor prod(Operand x, Axes axes = {}, Keep keep = Keep::no);
/// The largest element; NaN if there is one. Over no elements, the smallest value of the dtype.
Tensor max(Operand x, Axes axes = {}, Keep keep = Keep::no);
/// The smallest element; NaN if there is one. Over no elements, the largest value of the dtype.
Tensor min(Operand x, Axes axes = {}, Keep keep = Keep::no);
/// True if any element is not 0, in bool.
Tensor any(Operand x, Axes axes = {}, Keep keep = Keep::no);
/// True if no element is 0, in bool.
Tensor all(Operand x, Axes axes = {}, Keep keep = Keep::no);
/// The sum divided by the number of elements, rounded once. Integers and bool give f32.
Tensor mean(Operand x, Axes axes = {}, Keep keep = Keep::no);
/// The sum of squared deviations from the mean, divided by n − correction. A correction of 0 gives
/// the variance of the elements. 1 (PyTorch's default) gives the unbiased estimate.
Tensor var(Operand x, Axes axes = {}, int correction = 0, Keep keep = Keep::no);
/// log(Σ eˣ) without overflow. It is −inf over no elements or only −inf, and inf if there is an
/// inf.
Tensor logsumexp(Operand x, Axes axes = {}, Keep keep = Keep::no);
/// The index of the first NaN if there is one, else of the first largest element, in i64. Over
/// several axes, it counts their elements in row-major order. Throws UserError over an empty axis.
Tensor argmax(Operand x, Axes axes = {}, Keep keep = Keep::no);
/// As argmax, for the smallest element.
Tensor argmin(Operand x, Axes axes = {}, Keep keep = Keep::no);
template <std::integral Axis>
Tensor argmax(Operand x, Axis axis, Keep keep_axes = Keep::no) {
  return argmax(x, Axes({axis}), keep_axes);
}
template <std::integral Axis>
Tensor argmin(Operand x, Axis axis, Keep keep_axes = Keep::no) {
  return argmin(x, Axes({axis}), keep_axes);
}

/// The largest or smallest element over axes, and its first index as in argmax. The index treats +0
/// and -0 as equal, so the sign of a zero value may differ from that of the element at the index.
struct WithIndex {
  Tensor value;
  Tensor index;
};
WithIndex max_with_index(Operand x, Axes axes = {}, Keep keep = Keep::no);
WithIndex min_with_index(Operand x, Axes axes = {}, Keep keep = Keep::no);
template <std::integral Axis>
WithIndex max_with_index(Operand x, Axis axis, Keep keep_axes = Keep::no) {
  return max_with_index(x, Axes({axis}), keep_axes);
}
template <std::integral Axis>
WithIndex min_with_index(Operand x, Axis axis, Keep keep_axes = Keep::no) {
  return min_with_index(x, Axes({axis}), keep_axes);
}

/// Variance and mean over the same axes. The variance never uses E[x²] − E[x]².
struct VarMean {
  Tensor var;
  Tensor mean;
};
VarMean var_mean(Operand x, Axes axes = {}, int correction = 0, Keep keep = Keep::no);

/// Options of scans. By default, an element of the result combines all elements up to its position.
struct ScanOptions {
  bool exclusive = false;  ///< excludes the element at the position
  bool reverse = false;    ///< combines the elements from the position to the end
};
/// Prefix sums along an axis, in i64 or u64 for integers and bool.
Tensor cumsum(Operand x, int axis, ScanOptions options = {});
/// Prefix products along an axis, in i64 or u64 for integers and bool.
Tensor cumprod(Operand x, int axis, ScanOptions options = {});
/// The largest element so far along an axis; NaN from the first NaN on.
Tensor cummax(Operand x, int axis, ScanOptions options = {});
/// The smallest element so far along an axis; NaN from the first NaN on.
Tensor cummin(Operand x, int axis, ScanOptions options = {});

// Structural ops: index maps, no arithmetic.

/// x in another dtype. To a floating dtype, values round to nearest even. From a floating dtype to
/// an integer, they truncate: NaN gives 0, and values out of range give the nearest end of the
/// range.
Tensor cast(Operand x, DType to);
/// The bits of x as another dtype of the same size. Neither dtype may be bool.
Tensor bitcast(Operand x, DType to);
/// The elements in row-major order with another shape. One extent may be -1: it is inferred.
Tensor reshape(Operand x, Extents shape);
/// x with reordered axes: axis i of the result is axis axes[i] of x.
Tensor permute(Operand x, Axes axes);
/// Repeats axes of extent 1 to fill `shape`. New axes come first.
Tensor broadcast_to(Operand x, Extents shape);
/// The elements begin, begin + step, … below end of `axis`. Negative numbers count from the end,
/// and numbers beyond the ends are clamped. `step` must be at least 1.
Tensor slice(Operand x, int axis, Extent begin, Extent end, int step = 1);
/// x with the elements along `axes` in reverse order.
Tensor flip(Operand x, Axes axes);
/// Element offset + index · strides of x's elements in row-major order. Elements may be read more
/// than once. Strides must not be negative.
Tensor as_strided(Operand x, Extents shape, Extents strides, Extent offset = 0);
/// Windows of `size` elements, `step` apart along `axis`. The extent of `axis` becomes the number
/// of windows, and a new last axis of extent `size` holds each window.
Tensor unfold(Operand x, int axis, std::int64_t size, std::int64_t step);
/// The parts one after another along `axis`. Dtypes and all other extents must be equal.
Tensor concat(std::span<const Operand> parts, int axis);
Tensor concat(std::initializer_list<Operand> parts, int axis);
Tensor concat(std::span<const Tensor> parts, int axis, const char* file = __builtin_FILE(),
              int line = __builtin_LINE());
/// The slices of x along `axis` at `indices`. The result has the shape x[:axis] + indices +
/// x[axis+1:]. Negative indices count from the end, and others are clamped.
Tensor take(Operand x, Operand indices, int axis);
/// x[…, indices[…, i, …], …] along `axis`, with indices as in take. Every other axis must have
/// equal extents.
Tensor take_along_axis(Operand x, Operand indices, int axis);

/// x [n, m] with replaced rows: for each i in order, row i of `source` [k, m] replaces the row
/// `indices[i]` of x. With `accumulate`, it is added to that row and rounded each time. Indices
/// outside [0, n) write nothing: unlike in take, they neither count from the end nor are clamped.
/// `index_put` and `scatter_add` are written in scatter.
Tensor scatter(Operand x, Operand indices, Operand source, bool accumulate);

// Sources. They need a Graph.

/// A Tensor of `shape` filled with `value`. Throws UserError if an integer dtype or bool does not
/// have this value.
Tensor full(Graph& graph, Extents shape, Literal value, DType dtype,
            const char* file = __builtin_FILE(), int line = __builtin_LINE());
template <Arithmetic Number>
Tensor full(Graph& graph, Extents shape, Number value, DType dtype,
            const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return full(graph, shape, Literal::of(value), dtype, file, line);
}
/// The `extent` numbers start, start + step, … in an integer dtype.
Tensor iota(Graph& graph, Extent extent, std::int64_t start = 0, std::int64_t step = 1,
            DType dtype = i64, const char* file = __builtin_FILE(), int line = __builtin_LINE());

// Composites: functions written in ops. trigamma, sigmoid, gelu, softmax and log_softmax compute in
// f32 and round once, as sinter/nn.h describes.

/// The derivative of digamma.
Tensor trigamma(Operand x);
/// 1 / x
Tensor reciprocal(Operand x);
/// x · x
Tensor square(Operand x);
/// x − trunc(x), with x's sign; NaN for infinities, 0 for integers.
Tensor frac(Operand x);
/// maximum(x, 0). Integers keep their dtype, and bool gives i64.
Tensor relu(Operand x);
/// 1 / (1 + e⁻ˣ), without overflow.
Tensor sigmoid(Operand x);
/// x / 2 · erfc(−x / √2)
Tensor gelu(Operand x);
/// eˣ / Σ eˣ along `axis`, after the largest element is subtracted.
Tensor softmax(Operand x, int axis = -1);
/// x − log(Σ eˣ) along `axis`, after the largest element is subtracted.
Tensor log_softmax(Operand x, int axis = -1);

}  // namespace sinter
