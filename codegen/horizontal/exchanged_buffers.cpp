#include "codegen/horizontal/exchanged_buffers.h"

#include <map>

#include "compiler/body/sub_buffer.h"
#include "compiler/body_building/kernel_body.h"

namespace sinter {

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
  std::set<int> result;
  for (std::size_t i = 0; i < program.buffers.size(); ++i)
    if (written.contains(parent_or_self(program, static_cast<int>(i))))
      result.insert(static_cast<int>(i));
  return result;
}

}  // namespace sinter
