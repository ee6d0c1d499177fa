// Products of small row-major panels by plain loops, for machines without a BLAS.
#pragma once

#include <cstdint>

namespace sinter {

/// The sizes of a product c [m, n] of a [m, k] and b [k, n], all row-major. Rows of c are
/// `c_stride` elements apart, rows of a and b are adjacent.
struct PanelProduct {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t c_stride = 0;
  bool adds = false;  ///< the products are added to c, which is otherwise overwritten
};

/// Each sum adds its products in the order of k, each rounded.
void multiply_panels(const PanelProduct& sizes, const float* a, const float* b, float* c);
void multiply_panels(const PanelProduct& sizes, const double* a, const double* b, double* c);
/// b is [n, k] here. Sums wrap.
void multiply_panels(const PanelProduct& sizes, const std::int16_t* a, const std::int16_t* b,
                     std::int32_t* c);

}  // namespace sinter
