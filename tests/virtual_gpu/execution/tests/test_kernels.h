// Kernels with one result per thread, and the messages of violations, for tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/virtual_gpu/execution/tests/kernel_runner.h"

namespace sinter::virtual_gpu {

inline constexpr const char* kRegisters =
    ".reg .pred %p<16>;\n.reg .b16 %h<16>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<32>;\n"
    ".reg .f32 %f<8>;\n.reg .f64 %fd<8>;\n";

/// A kernel with the parameter `out`. In the body %r1 is the thread index in x, and %rd1 the
/// address of the thread's word of `out`, also across blocks. The body leaves its result in %r2.
inline std::string lane_kernel(const std::string& body, const std::string& module_variables = "") {
  return kernel_text(".param .u64 out",
                     kRegisters +
                         std::string("ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n"
                                     "mov.u32 %r30, %ctaid.x;\nmov.u32 %r31, %ntid.x;\n"
                                     "mad.lo.u32 %r30, %r30, %r31, %r1;\n"
                                     "mad.wide.u32 %rd1, %r30, 4, %rd1;\n") +
                         body + "\nst.global.u32 [%rd1], %r2;\nret;\n",
                     module_variables);
}

/// The results of a lane_kernel(), one per thread of the grid.
inline std::vector<std::uint32_t> run_lanes(const std::string& kernel, const Launch& launch = {},
                                            const GpuOptions& options = {}) {
  KernelRunner runner(options);
  const std::size_t threads = launch.grid.count() * launch.block.count();
  const std::uint64_t out = runner.allocate(threads * 4).address;
  runner.run(kernel, launch, out);
  return runner.read<std::uint32_t>(out, threads);
}

/// The values of `f` for 0, 1, … `count - 1`.
inline std::vector<std::uint32_t> table(std::size_t count,
                                        const std::function<std::uint32_t(std::uint32_t)>& f) {
  std::vector<std::uint32_t> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(f(static_cast<std::uint32_t>(i)));
  return values;
}

/// The message of the Violation that `run` throws; `none` if it throws none.
inline std::string violation_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Violation& violation) {
    return violation.what();
  }
  return "none";
}

}  // namespace sinter::virtual_gpu
