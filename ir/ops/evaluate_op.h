// Evaluates one elementwise op on single numbers, rounded as the op table promises.
#pragma once

#include "ir/ops/op.h"
#include "sinter/dtype.h"

#include <span>

namespace sinter {

/// `result`, the row's host formula at `operands`, rounded as an op of `dtype` does it. Correctly,
/// even where a second rounding after long double's would show, if the row claims 0 ulp.
double round_result(const OpInfo& row, std::span<const long double> operands, long double result,
                    DType dtype);
/// The row's value at `operands`, rounded so.
inline double evaluate(const OpInfo& row, std::span<const long double> operands, DType dtype) {
  return round_result(row, operands, row.host(operands, dtype), dtype);
}

}  // namespace sinter
