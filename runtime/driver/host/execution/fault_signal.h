// Turns a kernel's access fault, stack overflow or division by zero into a failed launch.
#pragma once

namespace sinter::host {

/// Installs the signal handlers once per process. Signals of other code go to the former handlers.
void install_fault_handlers();

/// Gives this OS thread the stacks on which it handles faults, until it ends.
void make_fault_stacks();

}  // namespace sinter::host
