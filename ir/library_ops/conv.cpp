// Recording of convolutions and of their gradients.
#include "ir/library_ops/conv_shape.h"
#include "ir/record/composite.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter {

namespace {

/// One call of a convolution or of a gradient.
struct Conv {
  Op op;
  const Operand& a;
  const Operand& b;
  std::string_view name() const { return info(op).name; }
  Location location() const { return a.location; }
  const Node& first() const { return *a.tensor.node(); }
  const Node& second() const { return *b.tensor.node(); }
};

/// Checks the operands, and fills the lists of `options`.
ConvGeometry checked_geometry(const Conv& call, const ConvOptions& options) {
  const Operand* const both[] = {&call.a, &call.b};
  graph_of(call.name(), both);
  check_conv_operands(call.name(), node_of(call.name(), call.a), node_of(call.name(), call.b),
                      call.location());
  return conv_geometry(call.name(), options, call.first().rank() - 2, call.location());
}

Tensor record_conv_node(const Conv& call, const ConvGeometry& geometry, bool allow_tf32,
                   std::span<const Extent> shape) {
  check_size(call.name(), shape, call.location());
  const Node* const operands[] = {&call.first(), &call.second()};
  const DType dtype = call.first().dtype;
  const bool is_conv = call.op == Op::conv;
  const Attribute attributes[] = {{.integers = geometry.strides},
                                  {.integers = geometry.dilations},
                                  {.integers = geometry.padding_begin},
                                  {.integers = geometry.padding_end},
                                  {.integer = geometry.groups},
                                  {.integer = allow_tf32 && dtype == f32},
                                  {.extents = shape}};
  return record_node(*call.a.tensor.graph(), call.op, dtype, operands, shape,
                     std::span(attributes).first(is_conv ? 6 : 7), call.location());
}

/// Throws UserError unless `found`, the shape of conv(x, w), is that of the cotangent g.
void check_cotangent(const Conv& call, const Node& g, std::span<const Extent> found) {
  if (std::ranges::equal(found, g.shape)) return;
  fail(call.name(),
       fmt::format("g is {}, but the convolution has the shape {}", type_text(g), to_string(found)),
       call.location());
}

}  // namespace

Tensor conv(const Operand& x, const Operand& w, const ConvOptions& options) {
  const LocationScope scope(x);
  const Conv call{Op::conv, x, w};
  const ConvGeometry geometry = checked_geometry(call, options);
  const ShapeVector shape =
      conv_shape(call.name(), call.first().shape, call.second().shape, geometry, x.location);
  return record_conv_node(call, geometry, options.allow_tf32, shape);
}

Tensor conv_data_gradient(const Operand& g, const Operand& w, Extents shape,
                          const ConvOptions& options) {
  const LocationScope scope(g);
  const Conv call{Op::conv_data_gradient, g, w};
  const ConvGeometry geometry = checked_geometry(call, options);
  check_cotangent(call, call.first(),
                  conv_shape(call.name(), shape, call.second().shape, geometry, g.location));
  return record_conv_node(call, geometry, options.allow_tf32, shape);
}

Tensor conv_weight_gradient(const Operand& x, const Operand& g, Extents shape,
                            const ConvOptions& options) {
  const LocationScope scope(x);
  const Conv call{Op::conv_weight_gradient, x, g};
  const ConvGeometry geometry = checked_geometry(call, options);
  check_cotangent(call, call.second(),
                  conv_shape(call.name(), call.first().shape, shape, geometry, x.location));
  return record_conv_node(call, geometry, options.allow_tf32, shape);
}

Tensor conv_transpose(const Operand& x, const Operand& w, const ConvTransposeOptions& options) {
  const LocationScope scope(x);
  constexpr std::string_view kOp = "conv_transpose";
  const Operand* const both[] = {&x, &w};
  graph_of(kOp, both);
  const Node& data = node_of(kOp, x);
  const Node& filters = node_of(kOp, w);
  check_conv_operands(kOp, data, filters, x.location);
  const auto spatial = static_cast<std::size_t>(data.rank() - 2);
  const ConvGeometry geometry = conv_geometry(kOp, options, data.rank() - 2, x.location);
  if (data.rank() != filters.rank() || data.shape[1] != filters.shape[0])
    fail(kOp,
         fmt::format("x is {} and w {}; axis 1 of x must have the extent of axis 0 of w, and both "
                     "as many axes",
                     type_text(data), type_text(filters)),
         x.location);
  const std::vector<std::int64_t>& more = options.output_padding;
  if (!more.empty() && more.size() != spatial)
    fail(kOp,
         fmt::format("output_padding has {} numbers; give one for each of the {} spatial axes",
                     more.size(), spatial),
         x.location);
  ShapeVector shape = {data.shape[0], filters.shape[1] * Extent(geometry.groups)};
  for (std::size_t axis = 0; axis < spatial; ++axis) {
    const std::int64_t added = more.empty() ? 0 : more[axis];
    if (added < 0 || added >= geometry.strides[axis])
      fail(kOp,
           fmt::format("output_padding has {} for spatial axis {}; it must be at least 0 and below "
                       "the stride, {}",
                       added, axis, geometry.strides[axis]),
           x.location);
    const Extent between = (data.shape[axis + 2] - Extent(1)) * Extent(geometry.strides[axis]);
    const Extent reach = Extent(geometry.dilations[axis]) * (filters.shape[axis + 2] - Extent(1));
    const std::int64_t padding = geometry.padding_begin[axis] + geometry.padding_end[axis];
    shape.push_back(between + reach + Extent(1 + added - padding));
  }
  for (std::size_t axis = 2; axis < shape.size(); ++axis)
    if (shape[axis].is_number() && shape[axis].number() < 0)
      fail(kOp,
           fmt::format("the result would be {}; the padding is larger than the result",
                       to_string(std::span<const Extent>(shape))),
           x.location);
  return record_conv_node({Op::conv_data_gradient, x, w}, geometry, options.allow_tf32, shape);
}

}  // namespace sinter
