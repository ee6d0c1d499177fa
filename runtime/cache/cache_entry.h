// The format of an entry of the disk cache, and what it is called.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// What an entry is called: the SHA-256 of all that decides its contents.
struct CacheName {
  std::array<std::uint8_t, 32> hash = {};

  std::string hex() const;
  friend bool operator==(const CacheName&, const CacheName&) = default;
  friend auto operator<=>(const CacheName&, const CacheName&) = default;
};

/// `key` is the whole text that decides an entry.
CacheName name_of(std::string_view key);

/// A file: a mark of the format, the name, the payload's size, a checksum of all that, the payload.
std::vector<std::byte> pack_entry(const CacheName& name, std::span<const std::byte> payload);

struct UnpackedEntry {
  std::span<const std::byte> payload;  ///< of the file
  std::string_view damage;             ///< what is wrong with it, in words; empty: nothing
};

UnpackedEntry unpack_entry(const CacheName& name, std::span<const std::byte> file);

}  // namespace sinter
