// Views, concatenation, padding, indexing, pooling and random numbers: functions written in ops.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sinter/ops.h"

namespace sinter {

// --- Views. Negative axes and indices count from the end. ----------------------------------------

/// Removes an axis of extent 1.
Tensor squeeze(Operand x, int axis);
/// Inserts an axis of extent 1 before `axis`; -1 makes it the last axis.
Tensor unsqueeze(Operand x, int axis);
/// Swaps the axes `a` and `b`.
Tensor transpose(Operand x, int a, int b);
/// Slice `index` of `axis`, without the axis.
Tensor select(Operand x, int axis, Extent index);
/// Segments of `size` elements along `axis`; the last may be shorter. The extent must be a number.
std::vector<Tensor> split(Operand x, std::int64_t size, int axis = 0);
/// The parts along a new axis, which becomes axis `axis` of the result.
Tensor stack(std::span<const Operand> parts, int axis = 0);
Tensor stack(std::initializer_list<Operand> parts, int axis = 0);
Tensor stack(std::span<const Tensor> parts, int axis = 0, const char* file = __builtin_FILE(),
             int line = __builtin_LINE());
/// The whole array `repeats[i]` times along axis i. More repeats than axes add axes in front.
Tensor tile(Operand x, Axes repeats);
/// Each element `times` times in succession along `axis`.
Tensor repeat(Operand x, std::int64_t times, int axis);
/// Elements moved by `shift` positions along `axis`. Elements that leave at one end enter at the
/// other end.
Tensor roll(Operand x, std::int64_t shift, int axis);

// --- Padding: `low[i]` elements before and `high[i]` after axis i. Negative numbers cut. ---------

/// Pads with `value`.
Tensor pad(Operand x, Axes low, Axes high, double value = 0);
/// Pads with copies of the first and the last element.
Tensor pad_edge(Operand x, Axes low, Axes high);
/// Pads with mirrored elements, without the edge. The padding must be smaller than the extent.
Tensor pad_reflect(Operand x, Axes low, Axes high);

// --- Replacing a part of x. `source` is a number, or broadcasts to the part. ---------------------

/// x with every `step`-th element from begin to end of `axis` replaced by `source`.
Tensor slice_scatter(Operand x, Operand source, int axis, Extent begin, Extent end, int step = 1);
/// x with slice `index` of `axis` replaced by `source`.
Tensor select_scatter(Operand x, Operand source, int axis, Extent index);

// --- Masks and indexing ------------------------------------------------------------------------
//
// Except in one_hot, negative indices count from the end, and others are clamped.

/// x with zeros above a diagonal of the last two axes. 0 is the main diagonal, and 1 the next one
/// above it.
Tensor tril(Operand x, std::int64_t diagonal = 0);
/// x with zeros below a diagonal of the last two axes.
Tensor triu(Operand x, std::int64_t diagonal = 0);
/// A new last axis of extent `classes` with 1 at the index, and 0 elsewhere. An index outside
/// [0, classes) gives a row of zeros.
Tensor one_hot(Operand indices, Extent classes, DType dtype);
/// Rows of `weight` [n, …] at `indices`.
Tensor embedding(Operand weight, Operand indices);
/// NumPy's x[…, i, j, …], with indices along `axes` that broadcast with one another. Their axes
/// replace the indexed axes if these are adjacent; otherwise, they come first.
Tensor index(Operand x, std::span<const Operand> indices, Axes axes);
Tensor index(Operand x, std::initializer_list<Operand> indices, Axes axes);
Tensor index(Operand x, std::span<const Tensor> indices, Axes axes);

/// x after `values`, broadcast to the shape of `index(x, indices, axes)`, replace the elements that
/// it reads. If several values have one element, the last value wins. With `accumulate`, the values
/// are added instead, in row-major order of the indices, and in f32 for narrower dtypes. `mask`
/// broadcasts to the shape of the values; values with a false mask are not written.
Tensor index_put(Operand x, Operand values, std::span<const Operand> indices, Axes axes,
                 bool accumulate = false, std::optional<Operand> mask = {});
Tensor index_put(Operand x, Operand values, std::initializer_list<Operand> indices, Axes axes,
                 bool accumulate = false, std::optional<Operand> mask = {});
Tensor index_put(Operand x, Operand values, std::span<const Tensor> indices, Axes axes,
                 bool accumulate = false, std::optional<Operand> mask = {});
/// x with source[…, i, …] added at x[…, indices[…, i, …], …] along `axis`, in row-major order, and
/// in f32 for narrower dtypes. `indices` and `source` have one shape. Its other axes are at most
/// those of x.
Tensor scatter_add(Operand x, int axis, Operand indices, Operand source);

// --- Pooling over the last axes ----------------------------------------------------------------
//
// `window`, `stride` and `padding` have one number per axis. Padding is at most half of the window.

/// The mean of each window. Padding counts as zeros (PyTorch's count_include_pad).
Tensor avg_pool(Operand x, Axes window, Axes stride, Axes padding);
/// The largest element of each window. x must be floating.
Tensor max_pool(Operand x, Axes window, Axes stride, Axes padding);
/// The largest element of each window and its index, as in max_with_index. The index is i64. It
/// counts the elements of x's pooled axes in row-major order, without the padding.
WithIndex max_pool_with_index(Operand x, Axes window, Axes stride, Axes padding);
/// The cotangent of x for the cotangent g [..., windows] of max_pool_with_index(x, …).value.
/// `index` is the index of that result. Each element of x gets the sum of g over the windows whose
/// index selects it, or 0. `shape` has the extents of x's pooled axes. An index outside its window
/// adds nothing. For windows that do not overlap, this is PyTorch's max_unpool.
Tensor max_pool_backward(Operand g, Operand index, Extents shape, Axes window, Axes stride,
                         Axes padding);
/// The pixels that grid_sample reads outside of x: zeros, or the nearest pixel of x.
enum class Border : bool { zeros, nearest };
/// Samples x [n, c, h, w] at the positions `grid` [n, y, x, 2] by bilinear interpolation. A
/// position is (x, y) in [-1, 1], from edge to edge of the pixels (PyTorch's align_corners =
/// false). Positions are computed in f64 for an f64 grid, else in f32. The result has x's dtype, or
/// f32 for integers, and rounds once.
Tensor grid_sample(Operand x, Operand grid, Border border = Border::zeros);

// --- Random numbers by Philox 4x32-10. They depend on seed, offset and position only. ------------
//
// Two calls with equal seeds and offsets draw equal bits, so each call in a program needs another
// offset. A replayed program draws the same bits again unless the seed changes. If the seed is an
// input, `graph.update(seed, seed + 1)` changes it after every run.

/// 32 random bits per element, in u32. `seed` is a Tensor of any integer dtype and rank 0, such as
/// a run-time scalar. `offset` is also one, or a number.
Tensor random_bits(Operand seed, Extents shape, Operand offset = 0);
/// Uniform in [0, 1): each multiple of 2^-24 (f32), 2^-53 (f64), 2^-11 (f16) or 2^-8 (bf16) is
/// equally likely.
Tensor random_uniform(Operand seed, Extents shape, DType dtype = f32, Operand offset = 0);
/// Mean 0 and standard deviation 1, by the Box-Muller transform. The radius has 24 random bits, so
/// no number exceeds 5.8 deviations, √(48 log 2). For f64, it has 32 bits, and the limit is 6.7
/// deviations, √(64 log 2).
Tensor random_normal(Operand seed, Extents shape, DType dtype = f32, Operand offset = 0);
/// True with the given probability.
Tensor random_bernoulli(Operand seed, Extents shape, double probability, Operand offset = 0);
/// x with each element set to 0 with the given probability. The others are divided by
/// 1 − probability, which keeps the mean.
Tensor dropout(Operand x, Operand seed, double probability, Operand offset = 0);

}  // namespace sinter
