// Values that are known at import: small arrays of numbers and extents.
//
// Exported models compute shapes with ops such as Shape, Gather and Concat. The importer evaluates
// them, so that an extent of a shape may be an expression over the symbols of the model.
#pragma once

#include "ir/shape/host_array.h"
#include "sinter/shape.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sinter::onnx {

/// One element: an integer, an extent of symbols, a bool (0 or 1), or a real.
struct Number {
  static Number of_real(double value) { return {.is_real = true, .real = value}; }
  static Number of(Extent value) { return {.extent = value}; }
  static Number of_bool(bool value) { return {.extent = Extent(value ? 1 : 0)}; }

  bool is_integer() const { return !is_real && extent.is_number(); }
  /// True if the value does not depend on symbols.
  bool is_fixed() const { return is_real || extent.is_number(); }
  /// The value of a fixed number.
  double as_real() const { return is_real ? real : static_cast<double>(extent.number()); }
  friend bool operator==(const Number&, const Number&) = default;

  bool is_real = false;
  Extent extent = {};
  double real = 0;
};

/// The largest number of elements that the importer evaluates. Larger values are computed at run
/// time.
inline constexpr std::int64_t kMostKnown = 4096;

struct KnownValue {
  DType dtype = i64;
  std::vector<std::int64_t> shape;
  std::vector<Number> items;  ///< in row-major order

  int rank() const { return static_cast<int>(shape.size()); }
  bool is_fixed() const;  ///< no element depends on symbols
};

/// The contents of `array`; nullopt if it is too large, or has a u64 of 2^63 or more.
std::optional<KnownValue> known_value_of(const HostArray& array);
/// The array of a fixed value.
HostArray array_of(const KnownValue& value);
/// The extents as a vector of i64.
KnownValue vector_of(std::span<const Extent> extents);
/// `[2, rows, 3]`, with at most 8 elements.
std::string text_of(const KnownValue& value);

}  // namespace sinter::onnx
