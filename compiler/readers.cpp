#include "compiler/readers.h"

#include <algorithm>
#include <set>

namespace sinter {

Readers::Readers(const Program& program) {
  for (std::size_t i = 0; i < program.kernels.size(); ++i) {
    const int number = static_cast<int>(i);
    for (const int buffer : program.kernels[i].reads) readers_[buffer].push_back(number);
    for (const Store& store : program.kernels[i].stores) {
      const Buffer& buffer = program.buffers[static_cast<std::size_t>(store.buffer)];
      if (buffer.kind == Buffer::Kind::temporary && buffer.whole < 0)
        inner_[number].push_back(store.buffer);
    }
  }
}

std::vector<int> Readers::inner_of(std::span<const int> kernels) const {
  std::vector<int> inner;
  for (const int number : kernels)
    for (const int buffer : inner_.lookup(number)) {
      const auto readers = readers_.find(buffer);
      if (readers != readers_.end() && std::ranges::all_of(readers->second, [&](int reader) {
            return std::ranges::find(kernels, reader) != kernels.end();
          }))
        inner.push_back(buffer);
    }
  return inner;
}

bool touch_large_array_again(const Program& program, std::span<const Kernel> kernels,
                             std::int64_t bytes) {
  std::set<int> read;
  std::set<int> again;
  for (const Kernel& kernel : kernels)
    for (const int buffer : kernel.reads)
      if (!read.insert(buffer).second) again.insert(buffer);
  for (const Kernel& kernel : kernels)
    for (const Store& store : kernel.stores)
      if (read.contains(store.buffer)) again.insert(store.buffer);
  return std::ranges::any_of(again, [&](int buffer) {
    return bytes_of(program.buffers[static_cast<std::size_t>(buffer)], program.facts.symbols) >=
           bytes;
  });
}

}  // namespace sinter
