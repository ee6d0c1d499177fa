#include "runtime/saved/read_saved.h"

#include <fmt/format.h>

#include "runtime/saved/archive.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr std::string_view kProgram = "program";

[[noreturn]] void fail_meaningless(const std::string& path, std::string_view part,
                                   std::string_view why, std::string_view version) {
  throw UserError(
      fmt::format("load: {} means nothing: {}: {} (it was saved by sinter {}, this is "
                  "{}); save it again",
                  path, part, why, version, sinter_version()));
}

}  // namespace

SavedExecutable read_saved(std::span<const std::byte> file, const std::string& path) {
  const OpenedSavedFile opened = open_saved_file(file);
  if (!opened.problem.empty()) throw UserError(fmt::format("load: {} {}", path, opened.problem));
  SavedExecutable saved{.version = opened.version};
  const OpenedSection* program = nullptr;
  for (const OpenedSection& section : opened.sections) {
    if (section.name == kProgram) {
      program = &section;
      continue;
    }
    saved.archs.push_back(section.name);
    saved.sections.push_back(section);
  }
  if (!program) fail_meaningless(path, "its sections", "there is no program", saved.version);
  try {
    saved.program = unpack_program(program->bytes);
    saved.graph = std::make_shared<Graph>(graph_of(saved.program, path));
  } catch (const Damage& damage) {
    fail_meaningless(path, "the program", damage.what, saved.version);
  } catch (const Error& error) {
    fail_meaningless(path, "its graph", error.what(), saved.version);
  }
  return saved;
}

SavedKernels read_kernels(const SavedExecutable& saved, std::size_t arch, const std::string& path) {
  const std::string part = "the kernels for " + saved.archs[arch];
  try {
    SavedKernels kernels = unpack_kernels(saved.sections[arch].bytes, saved.program, *saved.graph);
    if (kernels.arch != saved.archs[arch])
      throw Damage{fmt::format("they are for {}", kernels.arch)};
    return kernels;
  } catch (const Damage& damage) {
    fail_meaningless(path, part, damage.what, saved.version);
  }
}

}  // namespace sinter
