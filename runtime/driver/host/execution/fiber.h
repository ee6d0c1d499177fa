// Fibers: the threads of one block, each on a small stack of its own, run by one OS thread.
#pragma once

#include <cstddef>
#include <vector>

#include <boost/context/detail/fcontext.hpp>

#if defined(__SANITIZE_ADDRESS__)
#define SINTER_FIBERS_UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SINTER_FIBERS_UNDER_ASAN 1
#endif
#endif
#ifdef SINTER_FIBERS_UNDER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace sinter::host {

/// Tells the address sanitizer that what frames left behind on an abandoned stack means nothing.
inline void forget_frames([[maybe_unused]] const void* bottom, [[maybe_unused]] std::size_t bytes) {
#ifdef SINTER_FIBERS_UNDER_ASAN
  __asan_unpoison_memory_region(bottom, bytes);
#endif
}

/// A suspended thread of execution. Where its owner goes, its stack goes; it never changes OS
/// thread while it is suspended in the middle of its work.
class Fiber {
 public:
  /// The OS thread's own stack, as a fiber to come back to.
  Fiber() = default;

  /// Prepares the fiber to run `entry(argument)` on the stack below `top` at the next switch.
  /// `entry` must not return. Whatever the fiber was doing is forgotten.
  void prepare(std::byte* bottom, std::byte* top, void (*entry)(void*), void* argument);

  /// Suspends `*this`, which must be running, and continues `next`. Returns when something
  /// switches back.
  [[gnu::always_inline]] void switch_to(Fiber& next) { jump(this, next); }

  /// Continues `next` and never returns: the running stack is abandoned.
  [[noreturn]] static void abandon_to(Fiber& next) {
    jump(nullptr, next);
    __builtin_unreachable();
  }

 private:
  // Every jump hands over the fiber that it leaves, so that whoever wakes can note where that one
  // stopped; null if it was abandoned.
  struct Leaving {
    Fiber* from;
    Fiber* to;
  };

  static void start(boost::context::detail::transfer_t transfer);
  static void arrive(boost::context::detail::transfer_t transfer);
  static void jump(Fiber* from, Fiber& to);

  void* context_ = nullptr;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  const void* stack_bottom_ = nullptr;  // for the address sanitizer
  std::size_t stack_bytes_ = 0;
  void* fake_stack_ = nullptr;
};

// Inline, for the processor foresees few returns after a switch: each frame fewer saves ten times
// what the switch itself costs.

[[gnu::always_inline]] inline void Fiber::arrive(boost::context::detail::transfer_t transfer) {
  const Leaving leaving = *static_cast<Leaving*>(transfer.data);
  if (leaving.from) leaving.from->context_ = transfer.fctx;
#ifdef SINTER_FIBERS_UNDER_ASAN
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(leaving.to->fake_stack_, &bottom, &bytes);
  if (leaving.from) {
    leaving.from->stack_bottom_ = bottom;
    leaving.from->stack_bytes_ = bytes;
  }
#endif
}

[[gnu::always_inline]] inline void Fiber::jump(Fiber* from, Fiber& to) {
  Leaving leaving{from, &to};
#ifdef SINTER_FIBERS_UNDER_ASAN
  __sanitizer_start_switch_fiber(from ? &from->fake_stack_ : nullptr, to.stack_bottom_,
                                 to.stack_bytes_);
#endif
  arrive(boost::context::detail::jump_fcontext(to.context_, &leaving));
}

/// Stacks with a guard page below each, mapped as they are asked for and never unmapped before the
/// pool is.
class StackPool {
 public:
  static constexpr std::size_t kStackBytes = 64 << 10;

  struct Stack {
    std::byte* bottom;
    std::byte* top;
  };

  StackPool() = default;
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool();

  /// Makes at least `count` stacks; true if the system gave the memory.
  bool reserve(std::size_t count);
  const Stack& operator[](std::size_t i) const { return stacks_[i]; }
  std::size_t size() const { return stacks_.size(); }
  /// Whether `address` is in the guard page of one of the stacks.
  bool is_guard(const void* address) const;

 private:
  struct Mapping {
    std::byte* start;
    std::size_t bytes;
  };

  std::vector<Mapping> mappings_;
  std::vector<Stack> stacks_;
};

}  // namespace sinter::host
