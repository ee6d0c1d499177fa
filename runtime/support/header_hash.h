// Hashes that detect damaged or truncated files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/xxhash.h>

namespace sinter {

inline std::uint64_t hash_of(std::span<const std::byte> bytes) {
  return llvm::xxh3_64bits(llvm::ArrayRef<std::uint8_t>(
      reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

/// The hash of all fields before `header_hash`.
template <class Header>
std::uint64_t header_hash_of(const Header& header) {
  return hash_of(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, header_hash)));
}

}  // namespace sinter
