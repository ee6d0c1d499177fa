#include "ir/autodiff/library_vjp.h"

#include "ir/library_ops/conv_shape.h"
#include "ir/record/record.h"
#include "sinter/views.h"

namespace sinter {

namespace {

/// x [..., rows, columns] as one matrix of all rows.
Tensor all_rows(Tensor x) {
  const std::span<const Extent> shape = x.shape();
  Extent rows = 1;
  for (const Extent extent : shape.first(shape.size() - 1)) rows = rows * extent;
  return reshape(x, {rows, shape.back()});
}

/// The operands of a product and its cotangent in one dtype, which the cotangent of a result that
/// is wider than its operands decides.
struct Product {
  Tensor a;
  Tensor b;
  Tensor g;
  bool transpose_a;
  bool transpose_b;
  bool allow_tf32;

  Tensor times(Tensor left, Tensor right, bool transpose_left, bool transpose_right) const {
    return matmul(left, right,
                  {.transpose_a = transpose_left,
                   .transpose_b = transpose_right,
                   .allow_tf32 = allow_tf32});
  }
  Tensor cotangent_of_a() const {
    return transpose_a ? times(b, g, transpose_b, true) : times(g, b, false, !transpose_b);
  }
  Tensor cotangent_of_b() const {
    return transpose_b ? times(g, a, true, transpose_a) : times(a, g, !transpose_a, false);
  }
};

}  // namespace

std::vector<Tensor> matmul_vjp(std::span<const Tensor> operands, Tensor y, Tensor g) {
  const Node& node = *y.node();
  Product product{.a = cast(operands[0], g.dtype()),
                  .b = cast(operands[1], g.dtype()),
                  .g = g,
                  .transpose_a = attribute(node, "transpose_a").integer != 0,
                  .transpose_b = attribute(node, "transpose_b").integer != 0,
                  .allow_tf32 = attribute(node, "allow_tf32").integer != 0};
  const Tensor of_a = product.cotangent_of_a();
  // If one matrix multiplies the rows of all batches, its cotangent is one product over all rows,
  // not a sum of one product per batch.
  if (product.b.rank() == 2 && product.a.rank() > 2 && !product.transpose_a) {
    product.a = all_rows(product.a);
    product.g = all_rows(product.g);
  }
  return {of_a, product.cotangent_of_b()};
}

std::vector<Tensor> conv_vjp(std::span<const Tensor> operands, Tensor y, Tensor g) {
  const ConvOptions options = conv_options(*y.node());
  const Tensor of_x = conv_data_gradient(g, operands[1], operands[0].shape(), options);
  return {of_x, conv_weight_gradient(operands[0], g, operands[1].shape(), options)};
}

// The gradients of a convolution are linear in each operand, so their vjps are the other two ops.

std::vector<Tensor> conv_data_gradient_vjp(std::span<const Tensor> operands, Tensor y, Tensor g) {
  const ConvOptions options = conv_options(*y.node());
  const Tensor of_g = conv(g, operands[1], options);
  return {of_g, conv_weight_gradient(g, operands[0], operands[1].shape(), options)};
}

std::vector<Tensor> conv_weight_gradient_vjp(std::span<const Tensor> operands, Tensor y, Tensor g) {
  const ConvOptions options = conv_options(*y.node());
  const Tensor of_x = conv_data_gradient(operands[1], g, operands[0].shape(), options);
  return {of_x, conv(operands[0], g, options)};
}

}  // namespace sinter
