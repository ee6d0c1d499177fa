// Chooses the architecture of a saved file that runs on a device.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// True if code for architecture `stored` runs on GPUs of `arch`: the major versions are equal and
/// the minor version of `stored` is not higher. Embedded GPUs only run code for their own.
bool runs_on(std::string_view stored, std::string_view arch);

/// The indices in `stored` of the architectures whose PTX runs on GPUs of `arch`, the newest first.
/// The driver compiles PTX for any GPU that is not older.
std::vector<std::size_t> archs_of_older_ptx(std::span<const std::string> stored,
                                            std::string_view arch);

/// The index in `stored` of the best architecture for `arch`: `arch` itself, else the highest that
/// runs on it; nullopt if none does.
std::optional<std::size_t> best_arch(std::span<const std::string> stored, std::string_view arch);

}  // namespace sinter
