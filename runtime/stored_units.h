// What compilers made, as contents of the disk cache.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/disk_cache/cache_entry.h"
#include "runtime/nvrtc_units.h"

namespace sinter {

std::vector<std::byte> pack(const NvrtcUnit& unit);
/// Nothing if that is not what `pack` made of as many kernels.
std::optional<NvrtcUnit> unpack_unit(std::span<const std::byte> packed, std::size_t kernels);

/// Where the kernels of a unit are on the host device: in an object that may hold others too.
struct StoredHostUnit {
  CacheName object;
  std::vector<std::string> entries;  ///< names of the functions
};

std::vector<std::byte> pack(const StoredHostUnit& unit);
std::optional<StoredHostUnit> unpack_host_unit(std::span<const std::byte> packed,
                                               std::size_t kernels);

}  // namespace sinter
