#include "tools/sinter/output/format_numbers.h"

#include <fmt/format.h>

namespace sinter::command {

std::string counted(std::int64_t number, std::string_view what) {
  const bool takes_es = what.ends_with("ch");
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : takes_es ? "es" : "s");
}

std::string bytes_text(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string element_text(const HostArray& array, std::span<const std::int64_t> index) {
  return is_floating(array.dtype()) ? fmt::format("{:.9g}", array.real(index))
                                    : fmt::format("{}", array.integer(index));
}

std::string times_minimum(std::int64_t bytes, std::int64_t minimum) {
  if (minimum == 0) return "";
  return fmt::format(" ({:.3g} times the minimum)",
                     static_cast<double>(bytes) / static_cast<double>(minimum));
}

}  // namespace sinter::command
