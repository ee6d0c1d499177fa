// The names and the file format of disk cache entries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// The name of an entry: the SHA-256 of everything that decides its contents.
struct CacheName {
  std::array<std::uint8_t, 32> hash = {};

  std::string hex() const;
  friend bool operator==(const CacheName&, const CacheName&) = default;
  friend auto operator<=>(const CacheName&, const CacheName&) = default;
};

/// The name of the entry whose contents the text `key` decides.
CacheName name_of(std::string_view key);

/// The file of an entry: a header of 64 bytes (mark, name, payload size, checksums of payload and
/// header), then the payload.
std::vector<std::byte> pack_entry(const CacheName& name, std::span<const std::byte> payload);

struct UnpackedEntry {
  std::span<const std::byte> payload;  ///< points into the file
  std::string_view damage;             ///< what is wrong with the file; empty: nothing
};

/// Checks `file` against its checksums and `name`. `file` must outlive the result.
UnpackedEntry unpack_entry(const CacheName& name, std::span<const std::byte> file);

}  // namespace sinter
