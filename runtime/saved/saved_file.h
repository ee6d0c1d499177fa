// The container format of a saved executable: a header with format, version and checksums, a table
// of sections, and the sections. Each section begins at the next multiple of kSavedAlignment bytes,
// which suits kernels and pages when the file is mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/support/atomic_file.h"

namespace sinter {

/// The format version of the header and the table of sections.
inline constexpr std::uint32_t kSavedFormat = 4;

/// Of sections and of blocks of weights, in bytes.
inline constexpr std::size_t kSavedAlignment = 4096;

/// The kind of a section and the version of its contents. Increase the version when the meaning of
/// the contents or of launches changes.
struct SectionKind {
  std::string_view name;
  std::uint32_t version;
};
inline constexpr SectionKind kProgramSection = {"program", 2};
inline constexpr SectionKind kKernelsSection = {"kernels", 5};  ///< its name is the architecture
/// Names, types, strides and places of the weights, and their elements.
inline constexpr SectionKind kWeightsSection = {"weights", 2};
inline constexpr SectionKind kWeightDataSection = {"weight_data", 1};

/// The version of this library, such as `0.1.0`.
std::string_view sinter_version();

/// A section to write.
struct SavedSection {
  SectionKind kind = kProgramSection;
  std::string name = {};  ///< distinguishes sections of one kind
  std::vector<std::byte> bytes = {};
  /// Readers that do not know this kind ignore the section.
  bool may_be_skipped = false;
  /// Blocks that follow `bytes`, each at the next multiple of kSavedAlignment. They are made one by
  /// one when they are written, because all together may not fit in memory.
  std::vector<std::function<std::vector<std::byte>()>> blocks = {};
};

/// Writes a saved file to an empty file. Returns errno, or 0 for success.
int write_saved_file(const File& file, std::span<const SavedSection> sections);

struct OpenedSection {
  std::string kind;
  std::uint32_t version = 0;
  bool may_be_skipped = false;
  std::string name;
  std::span<const std::byte> bytes;  ///< refers to the file
};

struct OpenedSavedFile {
  std::string version;  ///< of the sinter that wrote it
  std::vector<OpenedSection> sections;
  std::string problem;  ///< an error and how to fix it; empty if the file is valid
};

/// True if `file` begins with the magic bytes of saved executables. The rest is not checked.
bool has_saved_magic(std::string_view file);

/// Checks the container and lists its sections. `file` must outlive the result.
OpenedSavedFile open_saved_file(std::span<const std::byte> file);

}  // namespace sinter
