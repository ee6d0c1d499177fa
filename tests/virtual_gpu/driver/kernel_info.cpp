#include "tests/virtual_gpu/driver/kernel_info.h"

#include <algorithm>

#include "tests/virtual_gpu/mutation/mutation.h"

namespace sinter::virtual_gpu::driver {

namespace {

constexpr int kMostThreadsOfKernel = 1024;
constexpr int kMostRegisters = 255;
constexpr int kLeastRegisters = 16;
constexpr int kRegisterFile = 65536;
constexpr int kRegisterUnit = 8;  ///< registers are allocated in this unit

int product_of(const std::array<int, 3>& sizes) {
  return std::max(sizes[0], 1) * std::max(sizes[1], 1) * std::max(sizes[2], 1);
}

int most_threads(const Kernel& kernel) {
  if (kernel.required_threads[0] > 0) return product_of(kernel.required_threads);
  if (kernel.max_threads[0] > 0) return product_of(kernel.max_threads);
  return kMostThreadsOfKernel;
}

/// The most registers per thread with which the blocks of the launch bounds fit on an SM.
int register_limit(const Kernel& kernel) {
  const int blocks = std::max(kernel.min_blocks_per_sm, 1);
  const int limit = kRegisterFile / (blocks * most_threads(kernel));
  return std::clamp(limit / kRegisterUnit * kRegisterUnit, kLeastRegisters, kMostRegisters);
}

bool waits(const ptx::Module& module, std::string_view kernel) {
  return std::ranges::any_of(module.functions, [&](const ptx::Function& function) {
    return function.name == kernel && waits_for_prior_launches(function);
  });
}

}  // namespace

std::vector<KernelInfo> kernel_infos(const Program& program) {
  std::vector<KernelInfo> infos;
  for (const Kernel& kernel : program.kernels)
    infos.push_back({.name = kernel.name,
                     .parameters = kernel.parameters,
                     .parameter_bytes = kernel.parameter_bytes,
                     .static_shared_bytes = static_cast<int>(kernel.static_shared_bytes),
                     .local_bytes = static_cast<int>(kernel.local_bytes),
                     .max_threads = most_threads(kernel),
                     .required_threads = kernel.required_threads,
                     .required_cluster = kernel.required_cluster,
                     .registers = std::clamp(kernel.live_registers + kRegisterUnit, kLeastRegisters,
                                             register_limit(kernel)),
                     .ptx_version = program.module.version,
                     .waits_for_prior_launches = waits(program.module, kernel.name)});
  return infos;
}

}  // namespace sinter::virtual_gpu::driver
