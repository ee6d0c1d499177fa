// Who reads what of a program's buffers, as long as its kernels are launches of their own.
#pragma once

#include <span>
#include <vector>

#include "compiler/program/kernel.h"
#include "ir/support/adt.h"

namespace sinter {

class BufferReaders {
 public:
  BufferReaders() = default;
  explicit BufferReaders(const Program& program);

  /// Buffers that some of `kernels` write and nothing else reads.
  std::vector<int> inner_of(std::span<const int> kernels) const;

 private:
  std::vector<llvm::SmallVector<int, 2>> readers_;  ///< kernels, by buffer
  std::vector<llvm::SmallVector<int, 2>> inner_;    ///< by kernel: temporaries that it stores
};

/// True if one of `kernels` reads an array of at least so many bytes that another one reads or
/// writes too.
bool rereads_large_array(const Program& program, std::span<const Kernel> kernels,
                         std::int64_t bytes);

}  // namespace sinter
