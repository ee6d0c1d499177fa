// HostProduct: a batch of matrix products on the host device, in tiles that threads share.
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>

#include "runtime/libraries/host/host_blas.h"

namespace sinter {

/// A rectangle of a matrix.
struct Panel {
  std::int64_t batch = 0;
  std::int64_t row = 0, rows = 0;
  std::int64_t column = 0, columns = 0;
};

/// A matrix in memory, row-major or the transpose of a row-major matrix.
template <class T>
struct StoredMatrix {
  T* data = nullptr;
  std::int64_t stride = 0;  ///< elements between rows in memory
  bool is_transposed = false;
};

/// The products of matrices a [m, k] and b [k, n] for each index of a batch. T is float or double,
/// or short with sums in 32 bits.
///
/// Each operand is a stored matrix of T, or is packed: a function writes a panel of it to row-major
/// memory. Panels of b are transposed if T is short. Each result is a stored matrix of sums, or a
/// function receives finished row-major panels.
template <class T>
struct HostProduct {
  using Sum = std::conditional_t<std::is_same_v<T, std::int16_t>, std::int32_t, T>;
  static constexpr bool kTransposesB = std::is_same_v<T, std::int16_t>;

  std::int64_t batches = 1;
  std::int64_t m = 0, n = 0, k = 0;
  std::function<StoredMatrix<const T>(std::int64_t batch)> stored_a, stored_b;
  std::function<void(const Panel&, T*panel)> pack_a, pack_b;
  std::function<StoredMatrix<Sum>(std::int64_t batch)> stored_result;
  std::function<void(const Panel&, const Sum* panel)> store;
};

/// Memory that the threads divide.
struct HostWorkspace {
  void* data = nullptr;  ///< aligned to 256 bytes
  std::int64_t bytes = 0;
};

/// Workspace for the product on all threads. It depends on sizes, and on which functions are there.
template <class T>
std::int64_t workspace_bytes(const HostProduct<T>& product, const HostBlas& blas);

/// Computes the products on as many threads as the workspace allows. Results do not depend on the
/// number of threads.
template <class T>
void multiply(const HostProduct<T>& product, const HostBlas& blas, const HostWorkspace& workspace);

}  // namespace sinter
