// The outside of a saved executable: a header with format, version and checksums, a table of
// sections, the sections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// Of everything behind the header. To be counted up when what sections hold means something else,
/// or launches do.
inline constexpr std::uint32_t kSavedFormat = 2;

/// Of this library, `0.1.0`.
std::string_view sinter_version();

/// A part of the file, by name: the program, or the kernels of an architecture.
struct SavedSection {
  std::string name;
  std::vector<std::byte> bytes;
};

std::vector<std::byte> pack_saved_file(std::span<const SavedSection> sections);

struct OpenedSection {
  std::string name;
  std::span<const std::byte> bytes;  ///< of the file
};

struct OpenedSavedFile {
  std::string version;  ///< of the sinter that wrote it
  std::vector<OpenedSection> sections;
  std::string problem;  ///< what is wrong with it, and what to do; empty: nothing
};

/// `file` must outlive the result.
OpenedSavedFile open_saved_file(std::span<const std::byte> file);

/// Writes the checksums of what `file` says now; nothing where it is too short for a header.
void seal_saved_file(std::span<std::byte> file);

}  // namespace sinter
