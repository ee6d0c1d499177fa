// Judging a device's result by the oracle's bounds.
#pragma once

#include "ir/oracle/interpret.h"
#include "ir/shape/host_array.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// An element that is further off than its bound.
struct Mismatch {
  std::vector<std::int64_t> index;
  double device = 0;
  double expected = 0;
  double bound = 0;
};

struct CheckResult {
  std::int64_t elements = 0;
  std::int64_t undecided = 0;  ///< of the elements; not judged
  std::int64_t failed = 0;
  /// Largest |device - expected| / bound of the judged elements: 0 where they are equal, infinite
  /// where they differ but must not. At most 1 passes.
  double worst = 0;
  std::optional<Mismatch> first_bad = {};  ///< in row-major order

  bool passes() const { return failed == 0; }
};

/// Compares each element of `actual`, of any strides, with what the oracle says of it. NaN must be
/// NaN, infinities must be infinite; -0 equals +0. Throws UserError if dtype or shape differ.
CheckResult check(const Expected& expected, const HostArray& actual);

/// One line: `y: 4096 elements within bounds, worst error/bound 0.31, 2 undecided`, or what is
/// wrong and where first.
std::string describe(std::string_view name, const CheckResult& result);

}  // namespace sinter
