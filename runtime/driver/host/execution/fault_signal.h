// Turns a kernel's access fault, stack overflow or division by zero into a failed launch.
#pragma once

namespace sinter::host {

/// Installs the signal handlers once per process. Signals of other code go to the former handlers.
void install_fault_handlers();

/// The stacks on which this OS thread handles faults. Must live as long as the thread runs kernels.
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
