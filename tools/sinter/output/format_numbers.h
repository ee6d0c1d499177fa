// Numbers as text, as all commands print them.
#pragma once

#include "ir/shape/host_array.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sinter::command {

/// `1 launch`, `3 launches`
std::string counted(std::int64_t number, std::string_view what);
/// `512 B`, `4 KiB`, `1.5 MiB`: at most four digits.
std::string bytes_text(std::int64_t bytes);
/// One element: an integer in full, a floating-point number with 9 significant digits.
std::string element_text(const HostArray& array, std::span<const std::int64_t> index);
/// ` (1.25 times the minimum)`; empty if the minimum is 0.
std::string times_minimum(std::int64_t bytes, std::int64_t minimum);

}  // namespace sinter::command
