// Which of the architectures in a saved file runs where.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sinter {

/// True if what is compiled for `stored` runs on GPUs of `arch`: the same major version, and no
/// higher a minor one. Those of embedded systems run their own alone.
bool runs_on(std::string_view stored, std::string_view arch);

/// The place of the one in `stored` that is best for `arch`: itself, else the highest that runs on
/// it.
std::optional<std::size_t> best_arch(std::span<const std::string> stored, std::string_view arch);

}  // namespace sinter
