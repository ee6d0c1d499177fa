// ByteSet: the distinct bytes of global memory that a launch touches.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace sinter::virtual_gpu {

/// A set of bytes, each known by its allocation and its offset there.
class ByteSet {
 public:
  /// Adds `bytes` bytes from `offset` on. `allocation` is only compared.
  void add(const void* allocation, std::uint64_t offset, std::uint64_t bytes);
  std::uint64_t size() const;

 private:
  using Words = std::vector<std::uint64_t>;  ///< one bit per byte
  std::unordered_map<const void*, Words> words_;
  const void* last_ = nullptr;  ///< the allocation of the last call
  Words* last_words_ = nullptr;
};

}  // namespace sinter::virtual_gpu
