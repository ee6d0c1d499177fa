// Views, joins, padding, indexing, windows and random numbers: functions written in ops.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sinter/ops.h"

namespace sinter {

// --- Views. Negative axes and places count from the end. ---------------------------------------

Tensor squeeze(Operand x, int axis);    // drops an axis of extent 1
Tensor unsqueeze(Operand x, int axis);  // a new axis of extent 1 in front of `axis`; -1: the last
Tensor transpose(Operand x, int a, int b);
/// Slice `index` of `axis`, without the axis.
Tensor select(Operand x, int axis, Extent index);
/// Segments of `size` elements along `axis`; the last may be shorter. The extent must be a number.
std::vector<Tensor> split(Operand x, std::int64_t size, int axis = 0);
Tensor stack(std::span<const Operand> parts, int axis = 0);
Tensor stack(std::initializer_list<Operand> parts, int axis = 0);
Tensor stack(std::span<const Tensor> parts, int axis = 0, const char* file = __builtin_FILE(),
             int line = __builtin_LINE());
/// The whole array `repeats[i]` times along axis i; more repeats than axes make new ones in front.
Tensor tile(Operand x, Axes repeats);
/// Each element `times` times in a row along `axis`.
Tensor repeat(Operand x, std::int64_t times, int axis);
/// Elements moved by `shift` places along `axis`; what leaves at one end comes back at the other.
Tensor roll(Operand x, std::int64_t shift, int axis);

// --- Padding: `low[i]` elements in front of and `high[i]` behind axis i; negative ones cut. ------

Tensor pad(Operand x, Axes low, Axes high, double value = 0);
Tensor pad_edge(Operand x, Axes low, Axes high);  // repeats the first and last element
Tensor pad_reflect(Operand x, Axes low,
                   Axes high);  // mirrors without the edge; less than an extent

// --- Writing into a part: the rest of x stays. ---------------------------------------------------

Tensor slice_scatter(Operand x, Operand source, int axis, Extent begin, Extent end, int step = 1);
Tensor select_scatter(Operand x, Operand source, int axis, Extent index);

// --- Masks and indexing. Negative indices wrap, others are clamped, but in one_hot. --------------

Tensor tril(Operand x, std::int64_t diagonal = 0);  // of the last two axes: 0 above the diagonal
Tensor triu(Operand x, std::int64_t diagonal = 0);
/// 1 where the index is the place on a new last axis of extent `classes`, else 0. An index outside
/// [0, classes) is no place: it gives a row of zeros.
Tensor one_hot(Operand indices, Extent classes, DType dtype);
/// Rows of `weight` [n, …] at `indices`.
Tensor embedding(Operand weight, Operand indices);
/// Numpy's x[…, i, j, …]: indices along `axes`, broadcast with one another. Their axes stand where
/// the indexed ones did if those are neighbours, else in front.
Tensor index(Operand x, std::span<const Operand> indices, Axes axes);
Tensor index(Operand x, std::initializer_list<Operand> indices, Axes axes);
Tensor index(Operand x, std::span<const Tensor> indices, Axes axes);

/// x with the elements that `index(x, indices, axes)` reads replaced by `values`, broadcast to its
/// shape, or with `accumulate` increased by them; the last of several values for one element stays,
/// and sums are taken in row-major order of the indices, in f32 for narrower dtypes. Where `mask`,
/// broadcast to the values' shape, is false nothing is written.
Tensor index_put(Operand x, Operand values, std::span<const Operand> indices, Axes axes,
                 bool accumulate = false, std::optional<Operand> mask = {});
Tensor index_put(Operand x, Operand values, std::initializer_list<Operand> indices, Axes axes,
                 bool accumulate = false, std::optional<Operand> mask = {});
Tensor index_put(Operand x, Operand values, std::span<const Tensor> indices, Axes axes,
                 bool accumulate = false, std::optional<Operand> mask = {});
/// x with source[…, i, …] added at x[…, indices[…, i, …], …] along `axis`, in row-major order, in
/// f32 for narrower dtypes. `indices` and `source` have one shape, which fits x's other axes.
Tensor scatter_add(Operand x, int axis, Operand indices, Operand source);

// --- Windows over the last axes: one number per axis in `window`, `stride` and `padding`. --------

/// Means of windows; padding counts as zeros (count_include_pad).
Tensor avg_pool(Operand x, Axes window, Axes stride, Axes padding);
Tensor max_pool(Operand x, Axes window, Axes stride, Axes padding);
/// And where in x each is, as max_with_index says: i64 places in row-major order among the pooled
/// axes of x alone, without the padding.
WithIndex max_pool_with_index(Operand x, Axes window, Axes stride, Axes padding);
/// The cotangent of x for the cotangent g [..., windows] of max_pool_with_index(x, …).value, by its
/// index: x's shape, zeros but where an index points, and the sum of g where several windows point
/// at one element. `shape` is that of x's pooled axes. An index outside its window adds nothing.
/// With windows that do not overlap it is what PyTorch calls max_unpool.
Tensor max_pool_backward(Operand g, Operand index, Extents shape, Axes window, Axes stride,
                         Axes padding);
/// x [n, c, h, w] at the places of `grid` [n, y, x, 2]: (x, y) in [-1, 1] from edge to edge of the
/// pixels (align_corners false), by bilinear interpolation. Outside are zeros, or the border. The
/// places are computed in f64 for a grid of f64, else in f32; the result has x's dtype, f32 for
/// integers, and is rounded once for a half.
enum class Border : bool { zeros, nearest };
Tensor grid_sample(Operand x, Operand grid, Border border = Border::zeros);

// --- Random numbers by Philox 4x32-10: a function of seed, offset and element alone. -------------
//
// Two calls with the same seed and offset draw the same bits, so each call in a program needs an
// offset of its own. A replayed program draws the same bits again unless the seed changes:
// `graph.update(seed, seed + 1)` for a seed that is an input does that after every run.

/// 32 random bits per element. `seed` is a Tensor of any integer dtype and rank 0, such as a scalar
/// that differs from call to call; `offset` likewise, or a number.
Tensor random_bits(Operand seed, Extents shape, Operand offset = 0);
/// In [0, 1), all multiples of 2^-24 (f32), 2^-53 (f64), 2^-11 (f16) or 2^-8 (bf16) alike.
Tensor random_uniform(Operand seed, Extents shape, DType dtype = f32, Operand offset = 0);
/// Mean 0, deviation 1, by Box and Muller's transform. No number lies beyond 5.8 deviations, the
/// root of 48 log 2 (f64: 6.7, that of 64 log 2), because a radius is made of 24 bits (32).
Tensor random_normal(Operand seed, Extents shape, DType dtype = f32, Operand offset = 0);
/// True with the given probability.
Tensor random_bernoulli(Operand seed, Extents shape, double probability, Operand offset = 0);
/// x with each element 0 with the given probability, and the others scaled to keep the mean.
Tensor dropout(Operand x, Operand seed, double probability, Operand offset = 0);

}  // namespace sinter
