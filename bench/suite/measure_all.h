// Measures cases one after the other, for as long as there is time and the device works.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench/suite/measure_case.h"

namespace sinter::suite {

enum class Outcome {
  right,   ///< no case went wrong
  wrong,   ///< some did
  broken,  ///< so did one, and the device has not worked since
};

inline Row row_not_run(const Case& one, std::string_view reason) {
  return {.name = one.name,
          .group = one.group,
          .system = "sinter",
          .status = "not_run",
          .reason = std::string(reason),
          .bytes = one.bytes};
}

/// Tells the rows of each case at once: those of `runner`, or why it was not run. No case begins
/// once `seconds_spent` says more than `seconds` (0: any number), or once one broke the device: an
/// error of a kernel stays with the process.
template <class Runner>
Outcome measure_all(std::span<const Case> cases, Runner& runner, double seconds,
                    const auto& seconds_spent, const auto& tell) {
  Outcome outcome = Outcome::right;
  std::string broken;
  for (const Case& one : cases) {
    if (!broken.empty()) {
      tell(std::vector<Row>{row_not_run(one, broken)});
      continue;
    }
    if (seconds > 0 && seconds_spent() > seconds) {
      tell(std::vector<Row>{row_not_run(one, fmt::format("the {:g} seconds were over", seconds))});
      continue;
    }
    const std::vector<Row> rows = runner.run(one);
    tell(rows);
    for (const Row& row : rows) {
      if (row.status == "ok" || row.status == "not_run") continue;
      outcome = Outcome::wrong;
      if (const std::string why = runner.why_broken(); !why.empty())
        broken = fmt::format("the device no longer works after {}: {}", one.name, why);
    }
  }
  return broken.empty() ? outcome : Outcome::broken;
}

}  // namespace sinter::suite
