// Shapes, dtypes and options of convolutions, which recording, verification and the oracle share.
#pragma once

#include "ir/record/record.h"
#include "sinter/library_ops.h"

namespace sinter {

/// The options of one convolution, with one number per spatial axis in each list.
struct ConvGeometry {
  AxesVector strides;
  AxesVector dilations;
  AxesVector padding_begin;
  AxesVector padding_end;
  std::int64_t groups = 1;
};

/// Fills the lists of `options` for `spatial` axes. Throws UserError for lists of another length
/// and for numbers out of range.
ConvGeometry conv_geometry(std::string_view op, const ConvOptions& options, int spatial,
                           Location location);
/// The geometry that a node of a convolution stores.
ConvGeometry conv_geometry(const Node& node);
ConvOptions conv_options(const Node& node);

/// The shape of conv(x, w). Throws UserError if the shapes do not fit.
ShapeVector conv_shape(std::string_view op, std::span<const Extent> x, std::span<const Extent> w,
                       const ConvGeometry& geometry, Location location);

/// Throws UserError unless a convolution takes operands of these dtypes and ranks.
void check_conv_operands(std::string_view op, const Node& a, const Node& b, Location location);

}  // namespace sinter
