#include "runtime/saved/saved_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "ir/support/round_up.h"
#include "runtime/support/header_hash.h"
#include "runtime/support/mapped_file.h"
#include "sinter/error.h"

namespace sinter {

namespace {

static_assert(std::endian::native == std::endian::little, "files are written in memory order");

constexpr std::array<char, 8> kSavedMagic = {'s', 'i', 'n', 't', 'e', 'r', 'x', '\n'};
constexpr std::size_t kVersionBytes = 24;
constexpr std::size_t kNameBytes = 16;

/// Mark, format and version have the same offsets in all formats.
struct SavedHeader {
  std::array<char, 8> magic = kSavedMagic;
  std::uint32_t format = kSavedFormat;
  std::uint32_t sections = 0;
  std::array<char, kVersionBytes> version = {};
  std::uint64_t file_bytes = 0;
  std::uint64_t body_hash = 0;    ///< of all bytes after the header
  std::uint64_t header_hash = 0;  ///< of all fields above
};
static_assert(sizeof(SavedHeader) == 64);

/// The table row of one section.
struct Row {
  std::array<char, kNameBytes> kind = {};
  std::array<char, kNameBytes> name = {};
  std::uint32_t version = 0;
  std::uint32_t may_be_skipped = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
static_assert(sizeof(Row) == 56);

template <std::size_t size>
std::array<char, size> padded(std::string_view text) {
  std::array<char, size> result = {};
  ensure(text.size() < size, fmt::format("the name {} is too long", text));
  std::ranges::copy(text, result.begin());
  return result;
}

/// The text up to the first zero byte. Bytes that are not printable ASCII become question marks.
template <std::size_t size>
std::string unpadded(const std::array<char, size>& padded) {
  std::string result(padded.begin(), std::ranges::find(padded, '\0'));
  for (char& c : result)
    if (c < ' ' || c > '~') c = '?';
  return result;
}

std::string about(const SavedHeader& header) {
  return fmt::format("it was saved by sinter {}, this is {}", unpadded(header.version),
                     sinter_version());
}

/// The problem of the header or the checksums; empty if they are valid.
std::string problem_of(const SavedHeader& header, std::span<const std::byte> file) {
  if (header.magic != kSavedMagic)
    return "is not an executable that sinter saved: write one with save";
  if (header.format != kSavedFormat)
    return fmt::format(
        "has format {}, but this sinter reads format {} ({}): save it again with this version",
        header.format, kSavedFormat, about(header));
  if (header.file_bytes > file.size())
    return fmt::format("is cut short: it has {} bytes of {}; copy or save it again", file.size(),
                       header.file_bytes);
  if (header.header_hash != header_hash_of(header))
    return "is damaged: its header does not match its checksum; copy or save it again";
  if (header.file_bytes != file.size())
    return fmt::format("is damaged: it has {} bytes instead of {}; copy or save it again",
                       file.size(), header.file_bytes);
  if (header.body_hash != hash_of(file.subspan(sizeof header)))
    return "is damaged: its contents do not match the checksum in its header; copy or save it "
           "again";
  return {};
}

/// The problem of a file that is shorter than a header.
std::string problem_of_short(std::span<const std::byte> file) {
  const std::size_t bytes = std::min(file.size(), kSavedMagic.size());
  if (bytes == 0 || std::memcmp(file.data(), kSavedMagic.data(), bytes) != 0)
    return "is not an executable that sinter saved: write one with save";
  return fmt::format("is cut short: it has {} bytes, fewer than its header; copy or save it again",
                     file.size());
}

}  // namespace

std::string_view sinter_version() { return SINTER_VERSION; }

int write_saved_file(const File& file, std::span<const SavedSection> sections) {
  SavedHeader header{.sections = static_cast<std::uint32_t>(sections.size()),
                     .version = padded<kVersionBytes>(sinter_version())};
  std::vector<Row> rows;
  std::size_t end = sizeof header + sections.size() * sizeof(Row);
  const auto append = [&](std::span<const std::byte> bytes) {
    const std::size_t begin = round_up(end, kSavedAlignment);
    end = begin + bytes.size();
    return write_all_at(file, bytes, begin);
  };
  for (const SavedSection& section : sections) {
    const std::size_t begin = round_up(end, kSavedAlignment);
    if (const int error = append(section.bytes); error != 0) return error;
    for (const auto& make_block : section.blocks)
      if (const int error = append(make_block()); error != 0) return error;
    rows.push_back({.kind = padded<kNameBytes>(section.kind.name),
                    .name = padded<kNameBytes>(section.name),
                    .version = section.kind.version,
                    .may_be_skipped = section.may_be_skipped,
                    .offset = begin,
                    .bytes = end - begin});
  }
  // The last sections may be empty.
  if (ftruncate(file.descriptor(), static_cast<off_t>(end)) != 0) return errno;
  if (const int error = write_all_at(file, std::as_bytes(std::span(rows)), sizeof header);
      error != 0)
    return error;
  const MappedFile written(file);
  if (written.error() != 0) return written.error();
  header.file_bytes = end;
  header.body_hash = hash_of(written.bytes().subspan(sizeof header));
  header.header_hash = header_hash_of(header);
  return write_all_at(file, std::as_bytes(std::span(&header, 1)), 0);
}

bool has_saved_magic(std::string_view file) {
  return file.starts_with(std::string_view(kSavedMagic.data(), kSavedMagic.size()));
}

OpenedSavedFile open_saved_file(std::span<const std::byte> file) {
  OpenedSavedFile result;
  SavedHeader header;
  if (file.size() < sizeof header) {
    result.problem = problem_of_short(file);
    return result;
  }
  std::memcpy(&header, file.data(), sizeof header);
  result.version = unpadded(header.version);
  result.problem = problem_of(header, file);
  if (!result.problem.empty()) return result;
  const auto fail = [&](std::string_view what) {
    result.sections.clear();
    result.problem = fmt::format("is invalid: {} ({}); save it again", what, about(header));
    return result;
  };
  const std::size_t most = (file.size() - sizeof header) / sizeof(Row);
  if (header.sections > most) return fail("its table of sections does not fit in it");
  std::size_t at = sizeof header + header.sections * sizeof(Row);
  for (std::size_t i = 0; i < header.sections; ++i) {
    Row row;
    std::memcpy(&row, file.data() + sizeof header + i * sizeof row, sizeof row);
    at = round_up(at, kSavedAlignment);
    if (row.offset != at || at > file.size() || row.bytes > file.size() - at)
      return fail("a section does not begin where the previous one ends");
    result.sections.push_back({.kind = unpadded(row.kind),
                               .version = row.version,
                               .may_be_skipped = row.may_be_skipped != 0,
                               .name = unpadded(row.name),
                               .bytes = file.subspan(at, row.bytes)});
    at += row.bytes;
  }
  if (at != file.size()) return fail("there are bytes after its last section");
  return result;
}

}  // namespace sinter
