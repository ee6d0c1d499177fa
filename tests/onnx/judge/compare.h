// Compares results with ONNX's expected outputs, as ONNX's own test runner does.
#pragma once

#include <string>

#include "ir/shape/host_array.h"

namespace sinter::test {

/// The tolerances of onnx.backend.test.runner.
inline constexpr double kOnnxRelativeTolerance = 1e-3;
inline constexpr double kOnnxAbsoluteTolerance = 1e-7;
/// ONNX allows two units in the last place for bf16.
inline constexpr double kOnnxRelativeToleranceBf16 = 0x1p-6;

/// The difference of dtypes or shapes in words, or empty.
std::string type_difference(const HostArray& actual, const HostArray& expected);

/// The first difference in words, or empty. Dtype and shape must be equal, and each element close:
/// integers, bools and infinities are equal, and NaN matches NaN.
std::string onnx_difference(const HostArray& actual, const HostArray& expected);

/// The first expected number that differs from `actual`, and the exact one, in words. It is empty
/// unless three conditions hold:
///
/// - All elements of `actual` are close to the exact results in f64.
/// - Those that differ from the expected numbers are closer to the exact ones than these are.
/// - The expected numbers have only rounding errors, at most 4 units in the last place of the
///   largest result. Exact results come from sinter's own definition, which must not differ.
std::string inexact_expectation(const HostArray& actual, const HostArray& expected,
                                const HostArray& exact);

}  // namespace sinter::test
