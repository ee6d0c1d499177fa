// Turns a kernel's wild access, stack overflow or division by zero into a failed launch.
#pragma once

namespace sinter::host {

/// Installs the handlers, once per process. Signals of other code go where they went before.
void install_fault_handlers();

/// Gives this OS thread the stacks that a fault needs. Lives as long as the thread runs kernels.
class FaultStacks {
 public:
  FaultStacks();
  FaultStacks(const FaultStacks&) = delete;
  FaultStacks& operator=(const FaultStacks&) = delete;
  ~FaultStacks();

 private:
  void* memory_ = nullptr;
  void* previous_stack_ = nullptr;
  unsigned long previous_bytes_ = 0;
  int previous_flags_ = 0;
};

}  // namespace sinter::host
