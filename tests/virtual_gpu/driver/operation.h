// Operation: a piece of work of a stream or a node of a CUDA Graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "tests/virtual_gpu/driver/result.h"
#include "tests/virtual_gpu/execution/gpu.h"

namespace sinter::virtual_gpu::driver {

struct FunctionObject;

/// No work: an event, or a node that only joins others.
struct Empty {};

struct KernelLaunch {
  std::shared_ptr<FunctionObject> function;
  Index3 grid, block, cluster;
  bool has_cluster = false;  ///< an attribute gives the size
  std::uint32_t shared_bytes = 0;
  std::vector<std::byte> parameters;
  bool is_cooperative = false;
  /// CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: it may start early.
  bool is_programmatic = false;
};

struct Copy {
  enum class Kind : std::uint8_t { host_to_device, device_to_host, device_to_device };
  Kind kind = Kind::device_to_device;
  std::uint64_t to = 0;
  std::uint64_t from = 0;
  std::size_t bytes = 0;
  /// The bytes of pageable memory, which were read when the copy was enqueued.
  std::shared_ptr<const std::vector<std::byte>> staged = nullptr;
};

struct Fill {
  std::uint64_t to = 0;
  std::uint32_t value = 0;
  int element_bytes = 1;
  std::size_t count = 0;
  std::size_t bytes() const { return count * static_cast<std::size_t>(element_bytes); }
};

struct HostCall {
  CUhostFn function = nullptr;
  void* data = nullptr;
  /// The function is called once this returns other than 0; null: at once. Tests use it to wait for
  /// other devices: a function that waits itself would block those of all devices.
  int (*is_ready)(void*) = nullptr;
};

/// The point from which on a stream-ordered allocation may be used.
struct PoolAllocation {
  std::uint64_t address = 0;
  std::size_t bytes = 0;
};

/// The point up to which a stream-ordered allocation may be used.
struct PoolRelease {
  std::uint64_t address = 0;
};

using Operation =
    std::variant<Empty, KernelLaunch, Copy, Fill, HostCall, PoolAllocation, PoolRelease>;

template <class T>
std::shared_ptr<const Operation> make_operation(T work) {
  return std::make_shared<const Operation>(std::move(work));
}

}  // namespace sinter::virtual_gpu::driver
