// The floating-point environment of kernels, which also run on threads of the caller.
#pragma once

#if !defined(__x86_64__)
#include <cfenv>
#endif

namespace sinter::host {

/// While it exists, the OS thread rounds to nearest, keeps denormal numbers and has no traps. Then
/// the mode and the exception flags of before return. Threads inherit the mode of their creator.
class KernelFloatEnvironment {
 public:
#if defined(__x86_64__)
  // Only the register for vectors: <cfenv> also writes that of x87, which takes longer than a small
  // launch may. Kernels have no type that uses it.
  KernelFloatEnvironment() : before_(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(kDefault); }
  ~KernelFloatEnvironment() { __builtin_ia32_ldmxcsr(before_); }
#else
  KernelFloatEnvironment() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~KernelFloatEnvironment() { std::fesetenv(&before_); }
#endif
  KernelFloatEnvironment(const KernelFloatEnvironment&) = delete;
  KernelFloatEnvironment& operator=(const KernelFloatEnvironment&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned kDefault = 0x1f80;  // the value in a new process

  const unsigned before_;
#else
  std::fenv_t before_;
#endif
};

}  // namespace sinter::host
