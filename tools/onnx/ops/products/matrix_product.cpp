#include "tools/onnx/ops/products/matrix_product.h"

#include "ir/graph/node.h"
#include "sinter/ops.h"
#include "sinter/views.h"
#include "tools/onnx/node/call.h"

#include <utility>

namespace sinter::onnx {

namespace {

/// The operand of a permute that swaps the last two axes; otherwise an empty Tensor.
Tensor before_transposition(const Tensor& x) {
  const Node& node = *x.node();
  if (node.op != Op::permute) return {};
  const std::span<const std::int64_t> order = attribute(node, "axes").integers;
  const std::size_t rank = order.size();
  if (rank < 2) return {};
  for (std::size_t i = 0; i + 2 < rank; ++i)
    if (order[i] != static_cast<std::int64_t>(i)) return {};
  if (order[rank - 1] != static_cast<std::int64_t>(rank - 2)) return {};
  return {node.operand(0), x.graph()};
}

Tensor transposed(const Tensor& x, bool transposes) {
  return transposes ? transpose(x, -1, -2) : x;
}

/// Σ a b for integers. Vectors are a row and a column.
Tensor elementwise_product(const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  if (a.rank() == 0 || b.rank() == 0) refuse("a factor has rank 0; factors have at least one axis");
  const Tensor left = a.rank() == 1 ? unsqueeze(a, 0) : transposed(a, options.transpose_a);
  const Tensor right = b.rank() == 1 ? unsqueeze(b, 1) : transposed(b, options.transpose_b);
  Tensor result = sum(unsqueeze(left, -1) * unsqueeze(right, -3), {-2});
  if (b.rank() == 1) result = squeeze(result, -1);
  if (a.rank() == 1) result = squeeze(result, b.rank() == 1 ? -1 : -2);
  return cast(result, a.dtype());
}

}  // namespace

Tensor matrix_product(const Tensor& a, const Tensor& b, MatmulOptions options) {
  if (!is_floating(a.dtype())) return elementwise_product(a, b, options);
  Tensor left = a;
  Tensor right = b;
  if (const Tensor before = before_transposition(a); before.node()) {
    left = before;
    options.transpose_a = !options.transpose_a;
  }
  if (const Tensor before = before_transposition(b); before.node()) {
    right = before;
    options.transpose_b = !options.transpose_b;
  }
  return matmul(left, right, options);
}

}  // namespace sinter::onnx
