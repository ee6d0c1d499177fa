#include "compiler/program/buffer_readers.h"

#include "compiler/program/op_cost.h"

#include <algorithm>

namespace sinter {

BufferReaders::BufferReaders(const Program& program)
    : readers_(program.buffers.size()), stored_temporaries_(program.kernels.size()) {
  for (std::size_t i = 0; i < program.kernels.size(); ++i) {
    for (const int buffer : program.kernels[i].reads)
      readers_[static_cast<std::size_t>(buffer)].push_back(static_cast<int>(i));
    for (const Store& store : program.kernels[i].stores) {
      const Buffer& buffer = program.buffers[static_cast<std::size_t>(store.buffer)];
      if (buffer.kind == Buffer::Kind::temporary && buffer.parent < 0)
        stored_temporaries_[i].push_back(store.buffer);
    }
  }
}

std::vector<int> BufferReaders::internal_buffers_of(std::span<const int> kernels) const {
  std::vector<int> result;
  for (const int number : kernels)
    for (const int buffer : stored_temporaries_[static_cast<std::size_t>(number)]) {
      const llvm::SmallVector<int, 2>& readers = readers_[static_cast<std::size_t>(buffer)];
      if (!readers.empty() && std::ranges::all_of(readers, [&](int reader) {
            return std::ranges::find(kernels, reader) != kernels.end();
          }))
        result.push_back(buffer);
    }
  return result;
}

bool rereads_large_array(const Program& program, std::span<const Kernel> kernels,
                         std::int64_t bytes) {
  const auto is_large = [&](int buffer) {
    return bytes_of(program.buffers[static_cast<std::size_t>(buffer)], program.facts.symbols) >=
           bytes;
  };
  DenseSet<int> read;
  for (const Kernel& kernel : kernels)
    for (const int buffer : kernel.reads)
      if (!read.insert(buffer).second && is_large(buffer)) return true;
  for (const Kernel& kernel : kernels)
    for (const Store& store : kernel.stores)
      if (read.contains(store.buffer) && is_large(store.buffer)) return true;
  return false;
}

}  // namespace sinter
