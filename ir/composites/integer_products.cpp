// Products and convolutions of 8-bit integers with zero points, composed of `matmul` in i32.
#include "ir/composites/padded_matmul.h"
#include "ir/library_ops/conv_shape.h"
#include "ir/record/composite.h"
#include "ir/record/record.h"
#include "sinter/library_ops.h"
#include "sinter/views.h"

#include <fmt/format.h>

namespace sinter {

namespace {

constexpr std::string_view kIntegerMatmul = "integer_matmul";
constexpr std::string_view kIntegerConv = "integer_conv";
/// Of k and n, as cuBLASLt needs for i8.
constexpr std::int64_t kMultiple = 4;

/// An operand in i8 and its zero point in i32. For u8, both are lower by 128.
struct SignedOperand {
  Tensor levels;
  Tensor zero_point;  ///< empty: 0
};

SignedOperand as_signed(std::string_view op, const Operand& x, const Tensor& zero_point) {
  const Node& node = node_of(op, x);
  if (node.dtype != i8 && node.dtype != u8)
    fail(op, fmt::format("an operand is {}; it must be i8 or u8", type_text(node)), x.location);
  const bool has_zero = zero_point.node() != nullptr;
  if (has_zero && !is_integer(zero_point.dtype()))
    fail(op,
         fmt::format("a zero point is {}; it must be an integer", type_text(*zero_point.node())),
         x.location);
  const Tensor wide = has_zero ? cast(zero_point, i32) : Tensor();
  if (node.dtype == i8) return {.levels = x.tensor, .zero_point = wide};
  constexpr int kShift = 128;
  GraphData& graph = *x.tensor.graph();
  const auto shift = tensor(graph, constant(graph, op, Literal::of(-kShift), i32, x.location));
  return {.levels = cast(cast(x, i32) - kShift, i8), .zero_point = has_zero ? wide + shift : shift};
}

/// The sums of i8 levels along `axis`, which stays with extent 1.
Tensor sums_along(const Tensor& levels, std::int64_t axis) {
  return cast(sum(cast(levels, i32), {axis}, keep), i32);
}

/// `x` with its last two axes swapped, unless it is a number or a vector.
Tensor swapped(const Tensor& x, bool swaps) {
  return swaps && x.node() && x.rank() >= 2 ? transpose(x, -2, -1) : x;
}

Tensor one_number(const Tensor& zero_point, Location location) {
  if (!zero_point.node() || zero_point.rank() == 0) return zero_point;
  if (!product(zero_point.shape()).is(1))
    fail(kIntegerConv,
         fmt::format("the zero point of x is {}; it must be one number",
                     type_text(*zero_point.node())),
         location);
  return reshape(zero_point, Extents());
}

/// The levels of x with `zero_point`, the level of the number 0, around the spatial axes.
Tensor padded_levels(const SignedOperand& x, const ConvGeometry& geometry) {
  const auto rank = static_cast<std::size_t>(x.levels.rank());
  AxesVector begin(rank, 0);
  AxesVector end(rank, 0);
  bool is_padded = false;
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    begin[i + 2] = geometry.padding_begin[i];
    end[i + 2] = geometry.padding_end[i];
    is_padded |= begin[i + 2] != 0 || end[i + 2] != 0;
  }
  if (!is_padded) return x.levels;
  if (!x.zero_point.node()) return pad(x.levels, begin, end);
  return cast(pad(cast(x.levels, i32) - x.zero_point, begin, end) + x.zero_point, i8);
}

/// The windows of x as matrices [groups, n * positions, elements of a filter].
Tensor window_matrices(Tensor x, std::span<const Extent> filter, const ConvGeometry& geometry) {
  const std::size_t spatial = filter.size() - 2;
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t dilation = geometry.dilations[i];
    const std::int64_t covered = dilation * (filter[i + 2].number() - 1) + 1;
    x = unfold(x, static_cast<int>(i + 2), covered, geometry.strides[i]);
    if (dilation > 1) x = slice(x, -1, 0, covered, static_cast<int>(dilation));
  }
  // [n, channels, positions..., filter...] to [groups, n, positions..., channels, filter...]
  const std::span<const Extent> shape = x.shape();
  ShapeVector grouped = {shape[0], geometry.groups, filter[1]};
  grouped.append(shape.begin() + 2, shape.end());
  AxesVector order = {1, 0};
  for (std::size_t i = 0; i < spatial; ++i) order.push_back(static_cast<std::int64_t>(3 + i));
  order.push_back(2);
  for (std::size_t i = 0; i < spatial; ++i)
    order.push_back(static_cast<std::int64_t>(3 + spatial + i));
  const Tensor by_position = permute(reshape(x, grouped), order);
  const Extent matrices[] = {geometry.groups, shape[0] * product(shape.subspan(2, spatial)),
                             product(filter.subspan(1))};
  return reshape(by_position, matrices);
}

}  // namespace

Tensor integer_matmul(const Operand& a, const Operand& b, const IntegerMatmulOptions& options) {
  const LocationScope scope(a);
  const Operand* const both[] = {&a, &b};
  GraphData& graph = graph_of(kIntegerMatmul, both);
  for (const Operand* x : both)
    if (node_of(kIntegerMatmul, *x).rank() < 2)
      fail(kIntegerMatmul,
           fmt::format("an operand is {}; it must have two axes or more",
                       type_text(*x->tensor.node())),
           x->location);
  // Σ (a − p)(b − q) = Σ ab − q Σ a − p Σ b + n p q over the n common elements.
  const SignedOperand left = as_signed(kIntegerMatmul, a, options.zero_a);
  const SignedOperand right = as_signed(kIntegerMatmul, b, options.zero_b);
  const Tensor p = swapped(left.zero_point, options.transpose_a);
  const Tensor q = swapped(right.zero_point, options.transpose_b);
  Tensor result = padded_matmul(
      with_location(left.levels, a), with_location(right.levels, b),
      {.transpose_a = options.transpose_a, .transpose_b = options.transpose_b}, kMultiple);
  const std::int64_t axis_of_a = options.transpose_a ? -2 : -1;
  if (q.node())
    result = result - swapped(sums_along(left.levels, axis_of_a), options.transpose_a) * q;
  if (p.node()) {
    const std::int64_t axis_of_b = options.transpose_b ? -1 : -2;
    result = result - p * swapped(sums_along(right.levels, axis_of_b), options.transpose_b);
  }
  if (p.node() && q.node()) {
    const std::span<const Extent> shape = left.levels.shape();
    const Extent common = shape[shape.size() - (options.transpose_a ? 2 : 1)];
    result = result + p * q * record_size(graph, common, i32, a.location);
  }
  return result;
}

Tensor integer_conv(const Operand& x, const Operand& w, const IntegerConvOptions& options) {
  const LocationScope scope(x);
  const Operand* const both[] = {&x, &w};
  graph_of(kIntegerConv, both);
  const Node& image = node_of(kIntegerConv, x);
  const Node& filters = node_of(kIntegerConv, w);
  const int spatial = image.rank() - 2;
  if (spatial < 1 || spatial > 3 || filters.rank() != image.rank())
    fail(kIntegerConv,
         fmt::format("x is {} and w {}; both need one to three spatial axes after two others",
                     type_text(image), type_text(filters)),
         x.location);
  for (const Extent extent : filters.shape.subspan(2))
    if (!extent.is_number())
      fail(kIntegerConv,
           fmt::format("w is {}; its spatial extents must be numbers", type_text(filters)),
           w.location);
  const ConvGeometry geometry = conv_geometry(kIntegerConv, options, spatial, x.location);
  const ShapeVector shape =
      conv_shape(kIntegerConv, image.shape, filters.shape, geometry, x.location);
  SignedOperand levels = as_signed(kIntegerConv, x, one_number(options.zero_x, x.location));
  levels.levels = window_matrices(padded_levels(levels, geometry), filters.shape, geometry);
  const Extent groups = geometry.groups;
  const Extent filters_per_group = floor_div(filters.shape[0], groups);
  const Extent matrix[] = {groups, filters_per_group, product(filters.shape.subspan(1))};
  Tensor zero_w = options.zero_w;
  if (zero_w.node() && zero_w.rank() > 0) {
    const Extent per_filter[] = {groups, filters_per_group, 1};
    zero_w =
        product(zero_w.shape()).is(1) ? reshape(zero_w, Extents()) : reshape(zero_w, per_filter);
  }
  const Tensor sums =
      integer_matmul(with_location(levels.levels, x), with_location(reshape(w, matrix), w),
                     {.transpose_b = true, .zero_a = levels.zero_point, .zero_b = zero_w});
  // [groups, n * positions, filters] to [n, groups, filters, positions...]
  ShapeVector apart = {groups, shape[0]};
  apart.append(shape.begin() + 2, shape.end());
  apart.push_back(filters_per_group);
  AxesVector order = {1, 0, static_cast<std::int64_t>(apart.size()) - 1};
  for (int axis = 0; axis < spatial; ++axis) order.push_back(2 + axis);
  return reshape(permute(reshape(sums, apart), order), shape);
}

}  // namespace sinter
