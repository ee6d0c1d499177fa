// Recording of matrix products.
#include "ir/library_ops/matmul_shape.h"
#include "ir/record/composite.h"
#include "sinter/views.h"

#include <fmt/format.h>

namespace sinter {

namespace {

/// An operand of rank 2 or more, and whether its last two axes are swapped.
struct Matrix {
  Tensor tensor;
  bool transpose;
};

/// `x` as a matrix. A vector becomes one row, or one column if `is_column`. The library reads the
/// operand of a transposed view instead of a copy of the view.
Matrix matrix_of(const Operand& x, bool transpose, bool is_column) {
  const Node& node = node_of(kMatmul, x);
  if (node.rank() == 0)
    fail(kMatmul, fmt::format("an operand is {}; it must have an axis", type_text(node)), x.location);
  if (node.rank() == 1) {
    const Extent row[] = {1, node.shape[0]};
    const Extent column[] = {node.shape[0], 1};
    return {reshape(x, is_column ? Extents(column) : Extents(row)), false};
  }
  if (swaps_last_axes(node)) return {tensor(*x.tensor.graph(), node.operand(0)), !transpose};
  return {x.tensor, transpose};
}

}  // namespace

Tensor matmul(const Operand& a, const Operand& b, const MatmulOptions& options) {
  const LocationScope scope(a);
  const Location location = a.location;
  const Operand* const both[] = {&a, &b};
  GraphData& graph = graph_of(kMatmul, both);
  const Matrix left = matrix_of(a, options.transpose_a, false);
  const Matrix right = matrix_of(b, options.transpose_b, true);
  const Node* const operands[] = {left.tensor.node(), right.tensor.node()};
  const DType usual = matmul_dtype(*operands[0], *operands[1], location);
  const DType dtype = options.result.value_or(usual);
  if (!is_matmul_result(operands[0]->dtype, dtype))
    fail(kMatmul,
         fmt::format("the result of {} and {} cannot be {}; leave it {} and cast it",
                     type_text(*operands[0]), type_text(*operands[1]), name(dtype), name(usual)),
         location);
  ShapeVector shape =
      matmul_shape(*operands[0], *operands[1], left.transpose, right.transpose, location);
  check_size(kMatmul, shape, location);
  const Attribute attributes[] = {{.integer = left.transpose},
                                  {.integer = right.transpose},
                                  {.dtype = dtype},
                                  {.integer = options.allow_tf32 && operands[0]->dtype == f32}};
  const Tensor product =
      record_node(graph, Op::matmul, dtype, operands, shape, attributes, location);
  const bool is_row = a.tensor.rank() == 1;
  const bool is_column = b.tensor.rank() == 1;
  if (is_column) shape.pop_back();
  if (is_row) shape.erase(shape.end() - (is_column ? 1 : 2));
  return is_row || is_column ? reshape(product, shape) : product;
}

}  // namespace sinter
