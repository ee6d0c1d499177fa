// Compares a device's result with the oracle's values and error bounds.
#pragma once

#include "ir/oracle/interpret.h"
#include "ir/shape/host_array.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// An element whose error exceeds its bound.
struct Mismatch {
  std::vector<std::int64_t> index;
  double device = 0;
  double expected = 0;
  double bound = 0;
};

struct CheckResult {
  std::int64_t elements = 0;
  std::int64_t undecided = 0;  ///< elements that were not compared
  std::int64_t failed = 0;
  /// Largest |device - expected| / bound of the compared elements. It is 0 for equal elements, and
  /// infinite if they must be equal but differ. A value of at most 1 passes.
  double worst = 0;
  std::optional<Mismatch> first_bad = {};  ///< in row-major order

  bool passes() const { return failed == 0; }
};

/// Compares each element of `actual`, which may be strided, with the oracle's. NaN matches only
/// NaN, an infinity only the same infinity; -0 equals +0. Throws UserError if dtype or shape
/// differ.
CheckResult check(const Expected& expected, const HostArray& actual);

/// One line: `y: 4096 elements within bounds, worst error/bound 0.31, 2 undecided`. After a failure
/// it has the number of failures and the first one.
std::string describe(std::string_view name, const CheckResult& result);

}  // namespace sinter
