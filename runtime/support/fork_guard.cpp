#include "runtime/support/fork_guard.h"

#include <pthread.h>

namespace sinter {

void guard_forks() {
  static const int registered = pthread_atfork(
      /*prepare=*/nullptr, /*parent=*/nullptr, [] { fork_guard::is_forked = true; });
  static_cast<void>(registered);  // if registration fails, forked processes are not detected
}

}  // namespace sinter
