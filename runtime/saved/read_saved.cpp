#include "runtime/saved/read_saved.h"

#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "runtime/support/archive.h"
#include "sinter/error.h"

namespace sinter {

namespace {

[[noreturn]] void fail_invalid(const std::string& path, std::string_view part, std::string_view why,
                               std::string_view version) {
  throw UserError(
      fmt::format("load: {} is invalid: {}: {} (it was saved by sinter {}, this is "
                  "{}); save it again",
                  path, part, why, version, sinter_version()));
}

/// Throws UserError for a file that an earlier or later sinter wrote.
[[noreturn]] void fail_unreadable(const std::string& path, const std::string& what,
                                  std::string_view version) {
  throw UserError(fmt::format(
      "load: {} {} (it was saved by sinter {}, this is {}); load it with that version, or save it "
      "again with this one",
      path, what, version, sinter_version()));
}

void check_version(const OpenedSection& section, const SectionKind& kind, const std::string& part,
                   const std::string& path, std::string_view version) {
  if (section.version == kind.version) return;
  fail_unreadable(path,
                  fmt::format("has version {} of {}, but this sinter reads version {}",
                              section.version, part, kind.version),
                  version);
}

/// Throws UserError if another user could have written the file, since loading it runs its code.
void check_owner(const MappedFile& file, const std::string& path) {
  if (file.others_can_write())
    throw UserError(fmt::format(
        "load: {} can be written by others, who could have changed the code in it; if you know "
        "that it is unchanged, run chmod go-w {}",
        path, path));
  if (file.owner() != geteuid() && file.owner() != 0)
    throw UserError(fmt::format(
        "load: {} belongs to user {}, not to user {} or root, so its code may not be yours; if you "
        "trust its owner, load your own copy of it",
        path, file.owner(), geteuid()));
}

SavedWeights read_weights(const OpenedSection* table, const OpenedSection* data,
                          const SavedExecutable& saved, const std::string& path) {
  if (!table || !data)
    fail_invalid(path, "its weights", "their table or their elements are missing", saved.version);
  check_version(*table, kWeightsSection, "the table of weights", path, saved.version);
  check_version(*data, kWeightDataSection, "the elements of weights", path, saved.version);
  try {
    return unpack_weights(table->bytes, data->bytes, *saved.graph);
  } catch (const InvalidData& invalid) {
    fail_invalid(path, "its weights", invalid.what, saved.version);
  }
}

}  // namespace

std::shared_ptr<const MappedFile> map_trusted_file(const std::string& path) {
  auto file = std::make_shared<const MappedFile>(path);
  if (file->error() != 0)
    throw UserError(fmt::format("load: {} cannot be read: {}", path, std::strerror(file->error())));
  check_owner(*file, path);
  return file;
}

SavedExecutable read_saved(std::span<const std::byte> file, const std::string& path) {
  const OpenedSavedFile opened = open_saved_file(file);
  if (!opened.problem.empty()) throw UserError(fmt::format("load: {} {}", path, opened.problem));
  SavedExecutable saved{.version = opened.version};
  const OpenedSection* program = nullptr;
  const OpenedSection* weights = nullptr;
  const OpenedSection* weight_data = nullptr;
  for (const OpenedSection& section : opened.sections) {
    if (section.kind == kProgramSection.name) {
      program = &section;
    } else if (section.kind == kKernelsSection.name) {
      saved.archs.push_back(section.name);
      saved.sections.push_back(section);
    } else if (section.kind == kWeightsSection.name) {
      weights = &section;
    } else if (section.kind == kWeightDataSection.name) {
      weight_data = &section;
    } else if (!section.may_be_skipped) {
      fail_unreadable(
          path,
          fmt::format("has a section of {}, version {}, which this sinter does not know",
                      section.kind, section.version),
          saved.version);
    }
  }
  if (!program) fail_invalid(path, "its sections", "there is no program", saved.version);
  check_version(*program, kProgramSection, "the program", path, saved.version);
  try {
    saved.program = unpack_program(program->bytes);
    saved.graph = std::make_shared<Graph>(graph_of(saved.program, path));
  } catch (const InvalidData& invalid) {
    fail_invalid(path, "the program", invalid.what, saved.version);
  } catch (const Error& error) {
    fail_invalid(path, "its graph", error.what(), saved.version);
  }
  if (weights || weight_data) saved.weights = read_weights(weights, weight_data, saved, path);
  return saved;
}

SavedKernels read_kernels(const SavedExecutable& saved, std::size_t arch, const std::string& path) {
  const std::string part = "the kernels for " + saved.archs[arch];
  check_version(saved.sections[arch], kKernelsSection, part, path, saved.version);
  try {
    SavedKernels kernels = unpack_kernels(saved.sections[arch].bytes, saved.program, *saved.graph);
    if (kernels.arch != saved.archs[arch])
      throw InvalidData{fmt::format("they are for {}", kernels.arch)};
    return kernels;
  } catch (const InvalidData& invalid) {
    fail_invalid(path, part, invalid.what, saved.version);
  }
}

}  // namespace sinter
