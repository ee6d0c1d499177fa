#include "runtime/driver/host/execution/cpu_claims.h"

#include <sched.h>

namespace sinter::host {

bool CpuClaims::claim() noexcept {
  const int cpu = sched_getcpu();
  if (cpu < 0 || cpu >= 64 * kWords) return true;  // unknown
  const std::uint64_t bit = std::uint64_t{1} << (cpu % 64);
  return (claimed_[cpu / 64].fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
}

void CpuClaims::claim_or_move() noexcept {
  if (claim()) return;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;  // more CPUs than the type holds
  cpu_set_t free = allowed;
  for (int cpu = 0; cpu < 64 * kWords; ++cpu)
    if (claimed_[cpu / 64].load(std::memory_order_relaxed) >> (cpu % 64) & 1) CPU_CLR(cpu, &free);
  if (CPU_COUNT(&free) == 0 || sched_setaffinity(0, sizeof free, &free) != 0) return;
  claim();
  sched_setaffinity(0, sizeof allowed, &allowed);
}

}  // namespace sinter::host
