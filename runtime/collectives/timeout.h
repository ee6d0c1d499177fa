// The timeouts of communicators.
#pragma once

#include <algorithm>
#include <chrono>
#include <string_view>

#include <fmt/format.h>

#include "sinter/error.h"

namespace sinter {

/// `timeout`, but at most a year, so that sums with it do not overflow. Throws UserError, which
/// begins with `call`, unless it is positive.
inline std::chrono::milliseconds checked_timeout(std::string_view call,
                                                 std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  if (timeout.count() <= 0)
    throw UserError(
        fmt::format("{}: the timeout is {} ms; it must be positive", call, timeout.count()));
  return std::min(timeout, kLongest);
}

}  // namespace sinter
