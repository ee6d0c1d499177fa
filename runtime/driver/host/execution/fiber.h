// Fibers: the threads of a block, each on a separate small stack, run by one OS thread.
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

/// Clears the address sanitizer's marks of frames on an abandoned stack.
inline void forget_frames([[maybe_unused]] const void* bottom, [[maybe_unused]] std::size_t bytes) {
#ifdef SINTER_FIBERS_UNDER_ASAN
  __asan_unpoison_memory_region(bottom, bytes);
#endif
}

/// A suspended thread of execution. It must be resumed by the OS thread that suspended it.
class Fiber {
 public:
  /// A fiber for the OS thread's own stack, to return to.
  Fiber() = default;

  /// Prepares the fiber to run `entry(argument)` on the stack below `top` at the next switch.
  /// `entry` must not return. Earlier work of the fiber is abandoned.
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
  // Every jump passes the fiber that it leaves, so that the resumed fiber can record where that one
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

// Inline, because the processor mispredicts most returns after a switch. Each frame less saves ten
// times the cost of the switch itself.

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

/// A growing pool of stacks with a guard page below each. They are never unmapped: the OS threads
/// that run blocks never end.
class StackPool {
 public:
  static constexpr std::size_t kStackBytes = 64 << 10;
  /// Of the first stack: the one thread of a block for CPUs keeps a whole row there.
  static constexpr std::size_t kFirstStackBytes = 4 << 20;

  struct Stack {
    std::byte* bottom;
    std::byte* top;
  };

  /// Ensures that there are at least `count` stacks; false if the system has no memory for them.
  bool reserve(std::size_t count);
  const Stack& operator[](std::size_t i) const { return stacks_[i]; }
  /// True if `address` is in the guard page of one of the stacks.
  bool is_guard(const void* address) const;

 private:
  bool add(std::size_t count, std::size_t stack_bytes);

  std::vector<Stack> stacks_;
};

}  // namespace sinter::host
