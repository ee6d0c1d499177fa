// Threads of a launch that share a CPU: the later one moves, and may run everywhere afterwards.
#include "runtime/driver/host/execution/cpu_claims.h"

#include <sched.h>

#include <thread>

#include <gtest/gtest.h>

namespace sinter::host::cpu_claims_test {
namespace {

cpu_set_t affinity() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  return set;
}

/// Runs `body` in a thread of its own, whose affinity it may change.
void in_thread(const auto& body) { std::thread(body).join(); }

TEST(CpuClaims, TheSecondThreadOfACpuMoves) {
  const cpu_set_t allowed = affinity();
  if (CPU_COUNT(&allowed) < 2) GTEST_SKIP() << "this process may run on one CPU only";
  // A scheduler may move the thread back at any time, but not every time.
  bool has_moved = false;
  for (int i = 0; i < 100 && !has_moved; ++i)
    in_thread([&] {
      CpuClaims claims;
      const int first = sched_getcpu();
      if (!claims.claim() || sched_getcpu() != first) return;
      claims.claim_or_move();
      has_moved = sched_getcpu() != first;
      const cpu_set_t after = affinity();
      EXPECT_TRUE(CPU_EQUAL(&allowed, &after));
    });
  EXPECT_TRUE(has_moved);
}

TEST(CpuClaims, AThreadStaysWhereItMustRun) {
  in_thread([] {
    const int first = sched_getcpu();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) GTEST_SKIP() << "no thread may be pinned";
    CpuClaims claims;
    EXPECT_TRUE(claims.claim());
    EXPECT_FALSE(claims.claim());
    claims.claim_or_move();
    const cpu_set_t after = affinity();
    EXPECT_TRUE(CPU_EQUAL(&one, &after));
  });
}

TEST(CpuClaims, MoreThreadsThanCpusStay) {
  in_thread([] {
    const cpu_set_t allowed = affinity();
    CpuClaims claims;
    for (int i = 0; i < 3 * CPU_COUNT(&allowed); ++i) claims.claim_or_move();
    const cpu_set_t after = affinity();
    EXPECT_TRUE(CPU_EQUAL(&allowed, &after));
  });
}

}  // namespace
}  // namespace sinter::host::cpu_claims_test
