// What compilers made, as contents of the disk cache.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/cache/cache_entry.h"
#include "runtime/compile/nvrtc_units.h"

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

/// What an entry of the disk cache is.
enum class StoredKind { gpu_kernels, host_kernels, host_object, tunings, compiler };

struct StoredDescription {
  StoredKind kind = StoredKind::compiler;
  std::string arch = {};                  ///< of kernels for GPUs: `sm_90`
  std::vector<std::string> entries = {};  ///< names of the functions
};

/// By the contents alone: an entry's key is not stored.
StoredDescription describe_stored(std::span<const std::byte> payload);

}  // namespace sinter
