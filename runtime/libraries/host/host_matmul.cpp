#include "runtime/libraries/host/host_matmul.h"

#include <limits>

#include "runtime/libraries/host/panel_elements.h"

namespace sinter {

namespace {

/// One operand of all products of a batch.
struct MatmulOperand {
  const void* data = nullptr;
  DType dtype = f32;
  bool is_transposed = false;
  std::int64_t stride = 0;  ///< elements between rows in memory
  std::int64_t (*offset)(const MatmulProblem::Offsets&) = nullptr;
};

/// Writes a panel of an operand: row-major, or transposed.
template <class Element, class T>
void pack_operand(const MatmulOperand& operand, std::int64_t offset, const Panel& panel,
                  bool transposes, T* packed) {
  const auto* const data = static_cast<const typename Element::Storage*>(operand.data) + offset;
  // Follows the rows in memory, which are columns of a transposed operand.
  const bool is_turned = operand.is_transposed;
  const std::int64_t rows = is_turned ? panel.columns : panel.rows;
  const std::int64_t columns = is_turned ? panel.rows : panel.columns;
  const std::int64_t row = is_turned ? panel.column : panel.row;
  const std::int64_t column = is_turned ? panel.row : panel.column;
  const bool is_adjacent = is_turned == transposes;  // rows in memory are rows of the panel
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto* const from = data + (row + i) * operand.stride + column;
    if (is_adjacent)
      for (std::int64_t j = 0; j < columns; ++j) packed[i * columns + j] = Element::value(from[j]);
    else
      for (std::int64_t j = 0; j < columns; ++j) packed[j * rows + i] = Element::value(from[j]);
  }
}

template <class T>
auto packer(const MatmulProblem& problem, const MatmulOperand& operand, bool transposes) {
  return [&problem, operand, transposes](const Panel& panel, T* packed) {
    const std::int64_t offset = operand.offset(problem.offsets(panel.batch));
    with_element(operand.dtype, [&](auto element) {
      using Element = decltype(element);
      if constexpr (std::is_same_v<decltype(Element::value({})), T>)
        pack_operand<Element>(operand, offset, panel, transposes, packed);
    });
  };
}

template <class T>
auto stored_operand(const MatmulProblem& problem, const MatmulOperand& operand) {
  return [&problem, operand](std::int64_t batch) {
    return StoredMatrix<const T>{
        .data = static_cast<const T*>(operand.data) + operand.offset(problem.offsets(batch)),
        .stride = operand.stride,
        .is_transposed = operand.is_transposed};
  };
}

/// A BLAS takes strides of 32 bits.
template <class T>
bool can_be_stored(DType dtype, std::int64_t stride) {
  const DType own = std::is_same_v<T, float> ? f32 : f64;
  return !std::is_same_v<T, std::int16_t> && dtype == own &&
         stride <= std::numeric_limits<int>::max();
}

/// The product in numbers of type T. It refers to `problem`.
template <class T>
HostProduct<T> product_of(const MatmulProblem& problem, const MatmulArrays& arrays) {
  using Sum = typename HostProduct<T>::Sum;
  const MatmulOperand a{.data = arrays.a,
                        .dtype = problem.a_dtype,
                        .is_transposed = problem.transpose_a,
                        .stride = problem.transpose_a ? problem.m : problem.k,
                        .offset = [](const MatmulProblem::Offsets& offsets) { return offsets.a; }};
  const MatmulOperand b{.data = arrays.b,
                        .dtype = problem.b_dtype,
                        .is_transposed = problem.transpose_b,
                        .stride = problem.transpose_b ? problem.k : problem.n,
                        .offset = [](const MatmulProblem::Offsets& offsets) { return offsets.b; }};
  HostProduct<T> product{
      .batches = problem.batches(), .m = problem.m, .n = problem.n, .k = problem.k};
  product.pack_a = packer<T>(problem, a, false);
  product.pack_b = packer<T>(problem, b, HostProduct<T>::kTransposesB);
  if (can_be_stored<T>(a.dtype, a.stride)) product.stored_a = stored_operand<T>(problem, a);
  if (can_be_stored<T>(b.dtype, b.stride)) product.stored_b = stored_operand<T>(problem, b);
  const std::int64_t matrix = problem.m * problem.n;
  if (problem.result_dtype != f16 && problem.result_dtype != bf16 &&
      problem.n <= std::numeric_limits<int>::max())
    product.stored_result = [=, n = problem.n](std::int64_t batch) {
      return StoredMatrix<Sum>{.data = static_cast<Sum*>(arrays.result) + batch * matrix,
                               .stride = n};
    };
  product.store = [=, n = problem.n, dtype = problem.result_dtype](const Panel& panel,
                                                                   const Sum* sums) {
    for (std::int64_t i = 0; i < panel.rows; ++i)
      store_elements(dtype, arrays.result,
                     panel.batch * matrix + (panel.row + i) * n + panel.column,
                     sums + i * panel.columns, panel.columns);
  };
  return product;
}

/// Calls `body` with a number of the type in which the product is computed.
template <class Body>
auto with_number(const MatmulProblem& problem, const Body& body) {
  if (problem.a_dtype == i8) return body(std::int16_t());
  return problem.a_dtype == f64 ? body(double()) : body(float());
}

}  // namespace

std::int64_t host_matmul_workspace(const MatmulProblem& problem, const HostBlas& blas) {
  return with_number(problem, [&](auto number) {
    return workspace_bytes(product_of<decltype(number)>(problem, {}), blas);
  });
}

void host_matmul(const MatmulProblem& problem, const MatmulArrays& arrays, const HostBlas& blas,
                 const HostWorkspace& workspace) {
  if (problem.is_empty()) return;
  with_number(problem, [&](auto number) {
    multiply(product_of<decltype(number)>(problem, arrays), blas, workspace);
  });
}

}  // namespace sinter
