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

/// Of the header and the table of sections.
inline constexpr std::uint32_t kSavedFormat = 3;

/// What a section holds, and the version of that: to be counted up when it means something else, or
/// launches do.
struct SectionKind {
  std::string_view name;
  std::uint32_t version;
};
inline constexpr SectionKind kProgramSection = {"program", 1};
inline constexpr SectionKind kKernelsSection = {"kernels", 1};  ///< its name is the architecture

/// Of this library, `0.1.0`.
std::string_view sinter_version();

/// A part of the file.
struct SavedSection {
  SectionKind kind = kProgramSection;
  std::string name = {};  ///< where there are several of its kind
  std::vector<std::byte> bytes = {};
  /// Readers that do not know this kind go on without it.
  bool may_be_skipped = false;
};

std::vector<std::byte> pack_saved_file(std::span<const SavedSection> sections);

struct OpenedSection {
  std::string kind;
  std::uint32_t version = 0;
  bool may_be_skipped = false;
  std::string name;
  std::span<const std::byte> bytes;  ///< of the file
};

struct OpenedSavedFile {
  std::string version;  ///< of the sinter that wrote it
  std::vector<OpenedSection> sections;
  std::string problem;  ///< what is wrong with it, and what to do; empty: nothing
};

/// True if `file` begins as all of them do, whatever comes then.
bool looks_saved(std::string_view file);

/// `file` must outlive the result.
OpenedSavedFile open_saved_file(std::span<const std::byte> file);

/// Writes the checksums of what `file` says now; nothing where it is too short for a header.
void seal_saved_file(std::span<std::byte> file);

}  // namespace sinter
