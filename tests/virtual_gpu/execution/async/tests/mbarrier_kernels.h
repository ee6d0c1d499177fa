// Kernels that use one mbarrier, for tests.
#pragma once

#include "tests/virtual_gpu/execution/async/tests/async_runner.h"

namespace sinter::virtual_gpu {

/// A kernel with the mbarrier `bar` for `count` arrivals, and 64 words `row` with the thread's word
/// at %rd4. Thread 0 initialises the mbarrier.
inline std::string barrier_kernel(int count, const std::string& body) {
  return lane_kernel(R"(
    .shared .align 8 .b64 bar;
    .shared .align 8 .b64 other;
    .shared .align 4 .b8 row[256];
    mov.u64 %rd3, row;
    mad.wide.u32 %rd4, %r1, 4, %rd3;
    mov.u64 %rd5, bar;
    mov.u32 %r2, 0;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared.b64 [bar], )" +
                     std::to_string(count) + ";\nbar.sync 0;\n" + body);
}

/// The results of each thread, under all schedules.
inline void expect_mbarrier_results(int count, const std::string& body,
                                    const std::function<std::uint32_t(std::uint32_t)>& f,
                                    std::uint32_t threads = 64) {
  for_each_schedule([&](const GpuOptions& options) {
    EXPECT_EQ(run_lanes(barrier_kernel(count, body), {.block = {threads, 1, 1}}, options),
              table(threads, f));
  });
}
/// The violation of a kernel.
inline std::string mbarrier_violation(int count, const std::string& body,
                                      std::uint32_t threads = 64) {
  return violation_under_all([&](const GpuOptions& options) {
    run_lanes(barrier_kernel(count, body), {.block = {threads, 1, 1}}, options);
  });
}
/// The violation of one thread, without what precedes the problem.
inline std::string mbarrier_problem(int count, const std::string& body) {
  const std::string message = mbarrier_violation(count, body, 1);
  const std::size_t at = message.find(";): ");
  return at == std::string::npos ? message : message.substr(at + 4);
}

/// Waits for the phase of the state in %rd6.
inline constexpr const char* kWaitForState = R"(
WAIT:
    mbarrier.try_wait.shared.b64 %p2, [bar], %rd6;
    @!%p2 bra WAIT;)";

}  // namespace sinter::virtual_gpu
