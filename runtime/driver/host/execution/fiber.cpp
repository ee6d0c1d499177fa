// Built without the thread sanitizer, which cannot follow a thread from stack to stack.
#include "runtime/driver/host/execution/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

namespace sinter::host {
namespace {

/// Makes accesses to these pages fault. From Linux 6.13 on this needs no separate mapping, of which
/// a process has about 65,000.
bool forbid(std::byte* pages, std::size_t bytes) {
  return madvise(pages, bytes, MADV_GUARD_INSTALL) == 0 || mprotect(pages, bytes, PROT_NONE) == 0;
}

}  // namespace

void Fiber::prepare(std::byte* bottom, std::byte* top, void (*entry)(void*), void* argument) {
  entry_ = entry;
  argument_ = argument;
  stack_bottom_ = bottom;
  stack_bytes_ = static_cast<std::size_t>(top - bottom);
  fake_stack_ = nullptr;
  forget_frames(bottom, stack_bytes_);
  context_ = boost::context::detail::make_fcontext(top, stack_bytes_, start);
}

void Fiber::start(boost::context::detail::transfer_t transfer) {
  Fiber& self = *static_cast<Leaving*>(transfer.data)->to;
  arrive(transfer);
  self.entry_(self.argument_);
  __builtin_unreachable();
}

bool StackPool::reserve(std::size_t count) {
  if (count <= stacks_.size()) return true;
  stacks_.reserve(count);
  if (stacks_.empty() && !add(1, kFirstStackBytes)) return false;
  return count == stacks_.size() || add(count - stacks_.size(), kStackBytes);
}

bool StackPool::add(std::size_t count, std::size_t stack_bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t stride = page + stack_bytes;
  const std::size_t bytes = stride * count;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return false;
  for (std::size_t offset = 0; offset < bytes; offset += stride) {
    std::byte* const guard = static_cast<std::byte*>(memory) + offset;
    if (!forbid(guard, page)) return false;
    // Without a shift, the hot ends of all stacks would map to the same cache sets.
    const std::size_t shift = stacks_.size() % 16 * 320;
    stacks_.push_back({guard + page, guard + stride - shift});
  }
  return true;
}

bool StackPool::is_guard(const void* address) const {
  const auto page = sysconf(_SC_PAGESIZE);
  for (const Stack& stack : stacks_)
    if (address >= stack.bottom - page && address < stack.bottom) return true;
  return false;
}

}  // namespace sinter::host
