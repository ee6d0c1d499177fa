#include "runtime/libraries/host/panel_loops.h"

#include <algorithm>

namespace sinter {

namespace {

/// Rows and columns of c that stay in registers over all of k: 4 rows of 32 bytes.
constexpr std::int64_t kBlockRows = 4;
template <class T>
constexpr std::int64_t kBlockColumns = 32 / sizeof(T);

/// A block of exactly `rows` rows and `columns` columns, which the compiler unrolls.
template <int rows, int columns, class T>
void multiply_block(const PanelProduct& sizes, const T* a, const T* b, T* c) {
  T sums[rows][columns];
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) sums[i][j] = sizes.adds ? c[i * sizes.c_stride + j] : T(0);
  for (std::int64_t k = 0; k < sizes.k; ++k) {
    const T* const b_row = b + k * sizes.n;
    for (int i = 0; i < rows; ++i) {
      const T left = a[i * sizes.k + k];
      for (int j = 0; j < columns; ++j) sums[i][j] += left * b_row[j];
    }
  }
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) c[i * sizes.c_stride + j] = sums[i][j];
}

template <class T>
void multiply_rows(const PanelProduct& sizes, std::int64_t rows, const T* a, const T* b, T* c) {
  constexpr auto kColumns = kBlockColumns<T>;
  std::int64_t j = 0;
  for (; j + kColumns <= sizes.n; j += kColumns)
    if (rows == kBlockRows)
      multiply_block<kBlockRows, kColumns>(sizes, a, b + j, c + j);
    else
      for (std::int64_t i = 0; i < rows; ++i)
        multiply_block<1, kColumns>(sizes, a + i * sizes.k, b + j, c + i * sizes.c_stride + j);
  for (; j < sizes.n; ++j)
    for (std::int64_t i = 0; i < rows; ++i)
      multiply_block<1, 1>(sizes, a + i * sizes.k, b + j, c + i * sizes.c_stride + j);
}

template <class T>
void multiply(const PanelProduct& sizes, const T* a, const T* b, T* c) {
  for (std::int64_t i = 0; i < sizes.m; i += kBlockRows)
    multiply_rows(sizes, std::min(kBlockRows, sizes.m - i), a + i * sizes.k, b,
                  c + i * sizes.c_stride);
}

}  // namespace

void multiply_panels(const PanelProduct& sizes, const float* a, const float* b, float* c) {
  multiply(sizes, a, b, c);
}

void multiply_panels(const PanelProduct& sizes, const double* a, const double* b, double* c) {
  multiply(sizes, a, b, c);
}

void multiply_panels(const PanelProduct& sizes, const std::int16_t* a, const std::int16_t* b,
                     std::int32_t* c) {
  for (std::int64_t i = 0; i < sizes.m; ++i)
    for (std::int64_t j = 0; j < sizes.n; ++j) {
      const std::int16_t* const a_row = a + i * sizes.k;
      const std::int16_t* const b_row = b + j * sizes.k;
      std::int32_t& place = c[i * sizes.c_stride + j];
      // Without signs, because signed sums must not overflow in C++. Panels are short: the sum of
      // one panel fits.
      std::int32_t sum = 0;
      for (std::int64_t k = 0; k < sizes.k; ++k) sum += std::int32_t{a_row[k]} * b_row[k];
      place = static_cast<std::int32_t>((sizes.adds ? static_cast<std::uint32_t>(place) : 0U) +
                                        static_cast<std::uint32_t>(sum));
    }
}

}  // namespace sinter
