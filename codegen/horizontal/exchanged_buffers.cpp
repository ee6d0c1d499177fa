#include "codegen/horizontal/exchanged_buffers.h"

#include <map>

#include "compiler/body/sub_buffer.h"
#include "compiler/body_building/kernel_body.h"

namespace sinter {

std::set<int> exchanged_buffers(const Program& program, const Kernel& joined) {
  std::map<int, std::set<std::size_t>> touched_by;  // wholes
  std::set<int> written;                            // likewise
  for (std::size_t i = 0; i < joined.sections.size(); ++i) {
    for (const Value& value : body_of(program, joined.sections[i]).values)
      if (value.kind == Value::Kind::load)
        touched_by[whole_of(program, program.buffer_of.lookup(value.node))].insert(i);
    for (const Store& store : joined.sections[i].stores) {
      const int whole = whole_of(program, store.buffer);
      touched_by[whole].insert(i);
      written.insert(whole);
    }
  }
  std::erase_if(written, [&](int buffer) { return touched_by.at(buffer).size() < 2; });
  std::set<int> result;
  for (std::size_t i = 0; i < program.buffers.size(); ++i)
    if (written.contains(whole_of(program, static_cast<int>(i))))
      result.insert(static_cast<int>(i));
  return result;
}

}  // namespace sinter
