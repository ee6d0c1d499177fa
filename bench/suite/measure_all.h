// Measures cases one after the other while there is time and the device works.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench/suite/measure_case.h"

namespace sinter::suite {

enum class Outcome {
  right,   ///< no case failed
  wrong,   ///< a case failed or had a wrong result
  broken,  ///< a case failed, and the device has not worked since
};

inline Row row_not_run(const Case& one, std::string_view reason) {
  return {.name = one.name,
          .group = one.group,
          .system = "sinter",
          .status = "not_run",
          .reason = std::string(reason),
          .bytes = one.bytes};
}

/// Runs the cases and passes the rows of each to `report`: those of `runner`, or the reason that
/// the case was not run. No case starts after `seconds` by `seconds_spent` (0 means no limit). No
/// case starts after one broke the device, since a fatal kernel error persists in the process.
template <class Runner>
Outcome measure_all(std::span<const Case> cases, Runner& runner, double seconds,
                    const auto& seconds_spent, const auto& report) {
  Outcome outcome = Outcome::right;
  std::string broken;
  for (const Case& one : cases) {
    if (!broken.empty()) {
      report(std::vector<Row>{row_not_run(one, broken)});
      continue;
    }
    if (seconds > 0 && seconds_spent() > seconds) {
      report(std::vector<Row>{
          row_not_run(one, fmt::format("the limit of {:g} s was reached", seconds))});
      continue;
    }
    const std::vector<Row> rows = runner.run(one);
    report(rows);
    for (const Row& row : rows) {
      if (row.status == "ok" || row.status == "not_run") continue;
      outcome = Outcome::wrong;
      if (const std::string why = runner.device_error(); !why.empty())
        broken = fmt::format("the device no longer works after {}: {}", one.name, why);
    }
  }
  return broken.empty() ? outcome : Outcome::broken;
}

}  // namespace sinter::suite
