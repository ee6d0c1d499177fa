#include "runtime/cache/cache_entry.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>

#include "runtime/support/header_hash.h"

namespace sinter {

namespace {

static_assert(std::endian::native == std::endian::little, "entries are written in memory order");

constexpr std::array<char, 8> kEntryMark = {'s', 'i', 'n', 't', 'e', 'r', ' ', '1'};

struct EntryHeader {
  std::array<char, 8> mark = kEntryMark;
  CacheName name;
  std::uint64_t payload_bytes = 0;
  std::uint64_t payload_hash = 0;
  std::uint64_t header_hash = 0;  ///< of the fields before it
};
static_assert(sizeof(EntryHeader) == 64);

}  // namespace

std::string CacheName::hex() const { return llvm::toHex(hash, /*LowerCase=*/true); }

CacheName name_of(std::string_view key) {
  return {.hash = llvm::SHA256::hash(llvm::ArrayRef<std::uint8_t>(
              reinterpret_cast<const std::uint8_t*>(key.data()), key.size()))};
}

std::vector<std::byte> pack_entry(const CacheName& name, std::span<const std::byte> payload) {
  EntryHeader header{
      .name = name, .payload_bytes = payload.size(), .payload_hash = hash_of(payload)};
  header.header_hash = header_hash_of(header);
  std::vector<std::byte> file(sizeof header + payload.size());
  std::memcpy(file.data(), &header, sizeof header);
  std::ranges::copy(payload, file.begin() + sizeof header);
  return file;
}

UnpackedEntry unpack_entry(const CacheName& name, std::span<const std::byte> file) {
  EntryHeader header;
  if (file.size() < sizeof header) return {.payload = {}, .damage = "it is cut short"};
  std::memcpy(&header, file.data(), sizeof header);
  if (header.mark != kEntryMark) return {.payload = {}, .damage = "it is no entry of this format"};
  if (header.header_hash != header_hash_of(header))
    return {.payload = {}, .damage = "its header is changed"};
  if (header.name != name) return {.payload = {}, .damage = "it is another entry"};
  const std::span<const std::byte> payload = file.subspan(sizeof header);
  if (header.payload_bytes != payload.size())
    return {.payload = {}, .damage = "it is not as long as it says"};
  if (header.payload_hash != hash_of(payload))
    return {.payload = {}, .damage = "its contents are changed"};
  return {.payload = payload, .damage = {}};
}

}  // namespace sinter
