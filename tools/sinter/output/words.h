// Numbers in words, as all commands print them.
#pragma once

#include "ir/shape/host_array.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sinter::command {

/// `1 launch`, `3 launches`
std::string counted(std::int64_t number, std::string_view what);
/// `512 B`, `4 KiB`, `1.5 MiB`: four digits at most.
std::string bytes_text(std::int64_t bytes);
/// One element, as exactly as its dtype is.
std::string element_text(const HostArray& array, std::span<const std::int64_t> index);
/// ` (1.25 times the minimum)`; nothing where there is no minimum.
std::string times_minimum(std::int64_t bytes, std::int64_t minimum);

}  // namespace sinter::command
