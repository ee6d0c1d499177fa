// Tracks which kernels read each buffer of a program, while every kernel is a launch of its own.
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

  /// The temporaries that only `kernels` write and read.
  std::vector<int> internal_buffers_of(std::span<const int> kernels) const;

 private:
  std::vector<llvm::SmallVector<int, 2>> readers_;  ///< kernels, by buffer
  std::vector<llvm::SmallVector<int, 2>>
      stored_temporaries_;  ///< by kernel: the temporaries that it stores
};

/// True if one of `kernels` reads an array of at least `bytes` bytes that another of them also
/// reads or writes.
bool rereads_large_array(const Program& program, std::span<const Kernel> kernels,
                         std::int64_t bytes);

}  // namespace sinter
