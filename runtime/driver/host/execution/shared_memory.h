// The dynamic shared memory of blocks on the host device.
#pragma once

#include "ir/support/round_up.h"

#include <cstddef>

#include <sys/mman.h>
#include <unistd.h>

namespace sinter::host {

/// Shared memory for one block at a time. Its end is next to a guard page.
class SharedMemory {
 public:
  SharedMemory() {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const memory = mmap(nullptr, kSharedBytes + page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    end_ = static_cast<unsigned char*>(memory) + kSharedBytes;
    mprotect(end_, page, PROT_NONE);
  }
  unsigned char* part(std::size_t bytes) const {
    if (!end_) return nullptr;
    return end_ - round_up(bytes, kSharedAlignment);
  }

 private:
  static constexpr std::size_t kSharedBytes = 256 << 10;
  static constexpr std::size_t kSharedAlignment = 128;

  unsigned char* end_ = nullptr;
};

}  // namespace sinter::host
