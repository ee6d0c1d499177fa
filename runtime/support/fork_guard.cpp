#include "runtime/support/fork_guard.h"

#include <pthread.h>

namespace sinter {

void guard_forks() {
  static const int registered = pthread_atfork(
      /*prepare=*/nullptr, /*parent=*/nullptr, [] { fork_guard::is_forked = true; });
  static_cast<void>(registered);  // without memory for it, such processes are told nothing
}

}  // namespace sinter
