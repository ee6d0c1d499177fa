#include "tests/support/run/compare_launches.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

namespace sinter::test {

namespace {

/// The hash of the code at the end of a kernel's name. Equal code may have been compiled under
/// another name.
std::string_view code_of(std::string_view name) { return name.substr(name.rfind('_') + 1); }

bool holds(std::int64_t predicted, std::uint64_t counted, bool is_bound) {
  const auto meant = static_cast<std::uint64_t>(predicted);
  return is_bound ? counted <= meant : counted == meant;
}

bool is_as_predicted(const KernelReport& kernel, const host::Launch& launch) {
  const auto at_least = [](std::int64_t predicted, std::uint64_t counted, bool is_bound) {
    return is_bound || counted >= static_cast<std::uint64_t>(predicted);
  };
  if (launch.grid[0] < kernel.planned_blocks)
    return code_of(kernel.name) == code_of(launch.kernel) &&
           at_least(kernel.bytes_read, launch.bytes_read, kernel.bytes_are_bounds) &&
           at_least(kernel.bytes_written, launch.bytes_written, kernel.writes_are_bounds);
  return code_of(kernel.name) == code_of(launch.kernel) &&
         holds(kernel.bytes_read, launch.bytes_read, kernel.bytes_are_bounds) &&
         holds(kernel.bytes_written, launch.bytes_written, kernel.writes_are_bounds);
}

}  // namespace

bool as_predicted(const Report& report, std::span<const host::Launch> launches) {
  for (const KernelReport& kernel : report.kernels)
    // Calls of the user's functions are not counted.
    for (int i = 0; i < kernel.launches && kernel.kind != "opaque"; ++i) {
      if (launches.empty() || !is_as_predicted(kernel, launches.front())) return false;
      launches = launches.subspan(1);
    }
  return launches.empty();
}

std::string per_launch(const Report& report, std::span<const host::Launch> launches) {
  std::string text;
  for (const KernelReport& kernel : report.kernels)
    text += fmt::format("\n  {}: predicted {} and {}", kernel.name, kernel.bytes_read,
                        kernel.bytes_written);
  for (const host::Launch& launch : launches)
    text += fmt::format("\n  {}: counted {} and {}", launch.kernel, launch.bytes_read,
                        launch.bytes_written);
  return text;
}

}  // namespace sinter::test
