#include "codegen/horizontal/exchanged_buffers.h"

#include <cstddef>
#include <map>

#include "compiler/body/sub_buffer.h"
#include "compiler/body_building/build_body.h"

namespace sinter {

namespace {

/// `buffers`, none of which is a sub-buffer, and all of their sub-buffers.
std::set<int> with_sub_buffers(const Program& program, const std::set<int>& buffers) {
  std::set<int> result;
  for (std::size_t i = 0; i < program.buffers.size(); ++i)
    if (buffers.contains(parent_or_self(program, static_cast<int>(i))))
      result.insert(static_cast<int>(i));
  return result;
}

}  // namespace

std::set<int> exchanged_buffers(const Program& program, const Kernel& fused) {
  std::map<int, int> sections;  // number of sections that access a buffer
  std::set<int> written;
  for (const Kernel& section : fused.sections) {
    AccessedBuffers accessed = accessed_buffers(program, section, body_of(program, section));
    written.insert(accessed.stored.begin(), accessed.stored.end());
    accessed.loaded.merge(accessed.stored);
    for (const int buffer : accessed.loaded) ++sections[buffer];
  }
  std::erase_if(written, [&](int buffer) { return sections.at(buffer) < 2; });
  return with_sub_buffers(program, written);
}

std::vector<std::set<int>> overwritten_buffers(const Program& program, const Kernel& fused) {
  std::vector<std::set<int>> later(static_cast<std::size_t>(phases(fused)));
  for (const Kernel& section : fused.sections) {
    if (section.phase == 0) continue;
    const std::set<int> stored =
        accessed_buffers(program, section, body_of(program, section)).stored;
    for (int phase = 0; phase < section.phase; ++phase)
      later[static_cast<std::size_t>(phase)].insert(stored.begin(), stored.end());
  }
  for (std::set<int>& buffers : later) buffers = with_sub_buffers(program, buffers);
  return later;
}

}  // namespace sinter
