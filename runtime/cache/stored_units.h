// The payloads of disk cache entries: units of NVRTC and of the host compiler.
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
/// Nothing if `packed` is not a valid unit with `kernels` kernels.
std::optional<NvrtcUnit> unpack_unit(std::span<const std::byte> packed, std::size_t kernels);

/// The location of a host unit's kernels: a shared object, which may hold kernels of other units.
struct StoredHostUnit {
  CacheName object;
  std::vector<std::string> entries;  ///< names of the functions
};

std::vector<std::byte> pack(const StoredHostUnit& unit);
std::optional<StoredHostUnit> unpack_host_unit(std::span<const std::byte> packed,
                                               std::size_t kernels);

/// The kind of a disk cache entry.
enum class StoredKind { gpu_kernels, host_kernels, host_object, tunings, algorithm, compiler };

struct StoredDescription {
  StoredKind kind = StoredKind::compiler;
  std::string arch = {};                  ///< of GPU kernels: `sm_90`
  std::vector<std::string> entries = {};  ///< names of the functions
};

/// Decides by the payload alone, because an entry does not store its key.
StoredDescription describe_stored(std::span<const std::byte> payload);

}  // namespace sinter
