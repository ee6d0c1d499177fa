// KernelRunner: loads a kernel from PTX text and runs it on a Gpu, for tests.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/virtual_gpu/execution/gpu.h"
#include "tests/virtual_gpu/program/program.h"

namespace sinter::virtual_gpu {

/// The shape of a launch.
struct Launch {
  Index3 grid = {1, 1, 1};
  Index3 block = {32, 1, 1};
  Index3 cluster = {1, 1, 1};
  std::uint32_t dynamic_shared_bytes = 0;
  bool is_cooperative = false;
  bool starts_early = false;  ///< it may begin before the launch before it has ended
};

class KernelRunner {
 public:
  explicit KernelRunner(GpuOptions options = {}, GpuLimits limits = {})
      : gpu_(limits, options, memory_, order_) {}

  /// Device memory with these values.
  template <class T>
  std::uint64_t array(const std::vector<T>& values) {
    Allocation& allocation = allocate(values.size() * sizeof(T));
    std::memcpy(allocation.data, values.data(), values.size() * sizeof(T));
    allocation.shadow.mark_initialized(0, allocation.size);
    return allocation.address;
  }
  /// Device memory that nothing has written.
  Allocation& allocate(std::uint64_t bytes) {
    return memory_.allocate(bytes, /*device=*/0, MemoryKind::device);
  }
  template <class T>
  std::vector<T> read(std::uint64_t address, std::size_t count) {
    std::vector<T> values(count);
    const Allocation& allocation = *memory_.find_begin(address);
    std::memcpy(values.data(), allocation.data, count * sizeof(T));
    return values;
  }
  void free(std::uint64_t address) { memory_.free(*memory_.find_begin(address)); }

  /// Loads the module and runs its kernel with the arguments, in the order of its parameters.
  template <class... Arguments>
  void run(const std::string& ptx, const Launch& launch, Arguments... arguments) {
    start(ptx, launch, arguments...);
    finish();
  }
  /// Starts the launch behind those before it.
  template <class... Arguments>
  std::uint32_t start(const std::string& ptx, const Launch& launch, Arguments... arguments) {
    const std::shared_ptr<const Program> program = gpu_.load(ptx);
    LaunchRequest request{.program = program,
                          .entry = 0,
                          .grid = launch.grid,
                          .block = launch.block,
                          .cluster = launch.cluster,
                          .dynamic_shared_bytes = launch.dynamic_shared_bytes,
                          .parameters = {},
                          .is_cooperative = launch.is_cooperative,
                          .waits_for = {},
                          .is_ordered = {}};
    const Kernel& kernel = program->kernels.at(0);
    request.parameters.resize(kernel.parameter_bytes);
    std::size_t index = 0;
    const auto pass = [&](auto argument) {
      std::memcpy(request.parameters.data() + kernel.parameters.at(index++).offset, &argument,
                  sizeof argument);
    };
    (pass(arguments), ...);
    const std::uint32_t previous = last_;
    if (launch.starts_early)
      request.waits_for = {previous};
    else
      finish();
    request.is_ordered = [previous, early = launch.starts_early](std::uint32_t earlier) {
      return !early || earlier != previous;
    };
    return last_ = gpu_.start(std::move(request));
  }
  /// Runs until all launches have ended.
  void finish() {
    while (gpu_.run_some()) {
    }
  }
  /// The counts of the last launch.
  const LaunchCounts& counts() const { return gpu_.counts(last_); }
  Gpu& gpu() { return gpu_; }

 private:
  GlobalMemory memory_;
  HappensBefore order_;
  Gpu gpu_;
  std::uint32_t last_ = 0;
};

/// A module with one kernel `kernel` that has the body. `parameters` is the list in parentheses.
inline std::string kernel_text(const std::string& parameters, const std::string& body,
                               const std::string& module_variables = "") {
  return ".version 9.0\n.target sm_90\n.address_size 64\n" + module_variables +
         "\n.visible .entry kernel(" + parameters + ")\n{\n" + body + "\n}\n";
}

}  // namespace sinter::virtual_gpu
