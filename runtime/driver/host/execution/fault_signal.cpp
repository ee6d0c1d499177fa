#include "runtime/driver/host/execution/fault_signal.h"

#include "runtime/driver/host/execution/fiber.h"
#include "runtime/driver/host/execution/rendezvous.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

namespace sinter::host {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE};
constexpr std::size_t kSignalStackBytes = 64 << 10;
constexpr std::size_t kFaultStackBytes = 64 << 10;

struct sigaction previous_actions[std::size(kSignals)];

struct CaughtFault {
  int signal;
  const void* address;
};
thread_local CaughtFault fault;
thread_local std::byte* fault_stack_top = nullptr;

// A stopped kernel thread continues here: outside the signal handler, and on a separate stack,
// because the fault may be a stack overflow.
[[noreturn, gnu::no_sanitize_address]] void continue_after_fault() {
  BlockRunner::running()->fail_at_signal(fault.signal, fault.address);
}

bool redirect(void* context) {
  forget_frames(fault_stack_top - kFaultStackBytes, kFaultStackBytes);
  const std::uintptr_t top = reinterpret_cast<std::uintptr_t>(fault_stack_top);
  auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  machine.gregs[REG_RSP] = static_cast<greg_t>(top - 8);  // as after a call
  machine.gregs[REG_RIP] = reinterpret_cast<greg_t>(&continue_after_fault);
  return true;
#elif defined(__aarch64__)
  machine.sp = top;
  machine.pc = reinterpret_cast<std::uintptr_t>(&continue_after_fault);
  return true;
#else
  return false;
#endif
}

const struct sigaction& previous_action(int signal) {
  std::size_t i = 0;
  while (kSignals[i] != signal) ++i;
  return previous_actions[i];
}

void handle(int signal, siginfo_t* info, void* context) {
  if (BlockRunner::running() && fault_stack_top) {
    fault = {signal, info->si_addr};
    if (redirect(context)) return;
  }
  const struct sigaction& previous = previous_action(signal);
  if (previous.sa_flags & SA_SIGINFO) return previous.sa_sigaction(signal, info, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN)
    return previous.sa_handler(signal);
  // Back to the default: the instruction runs again and ends the process as it should.
  sigaction(signal, &previous, nullptr);
}

}  // namespace

void install_fault_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      struct sigaction action {};
      action.sa_sigaction = handle;
      action.sa_flags = SA_SIGINFO | SA_ONSTACK;
      sigemptyset(&action.sa_mask);
      sigaction(kSignals[i], &action, &previous_actions[i]);
    }
  });
}

namespace {

/// The stacks of one OS thread. A signal stack of other code stays.
class FaultStacks {
 public:
  FaultStacks() {
    void* const memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;  // kernels still run, but a fault ends the process
    memory_ = static_cast<std::byte*>(memory);
    stack_t former{};
    sigaltstack(nullptr, &former);
    const stack_t stack{.ss_sp = memory, .ss_flags = 0, .ss_size = kSignalStackBytes};
    if (former.ss_flags & SS_DISABLE) has_signal_stack_ = sigaltstack(&stack, nullptr) == 0;
    fault_stack_top = memory_ + kBytes;
  }
  FaultStacks(const FaultStacks&) = delete;
  FaultStacks& operator=(const FaultStacks&) = delete;
  ~FaultStacks() {
    if (!memory_) return;
    fault_stack_top = nullptr;
    stack_t current{};
    sigaltstack(nullptr, &current);
    const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    if (has_signal_stack_ && current.ss_sp == memory_) sigaltstack(&none, nullptr);
    munmap(memory_, kBytes);
  }

 private:
  static constexpr std::size_t kBytes = kSignalStackBytes + kFaultStackBytes;

  std::byte* memory_ = nullptr;
  bool has_signal_stack_ = false;
};

}  // namespace

void make_fault_stacks() { thread_local const FaultStacks stacks; }

}  // namespace sinter::host
