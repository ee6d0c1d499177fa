// TableUploads: copies the tables of a launch set to the device, in stream order, while the host
// prepares later runs.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "runtime/device/device_state.h"
#include "runtime/execution/launch_set.h"

namespace sinter {

/// Buffers of pinned memory that are used in turn. The device reads a buffer when the stream
/// reaches its copy, so the host may be as many runs ahead as there are buffers. It waits only if
/// all of them have copies in flight. Then it waits for the oldest copy.
class TableUploads {
 public:
  static constexpr std::size_t kBuffers = 4;
  /// Describes the tables in errors.
  using Describe = std::function<std::string()>;

  explicit TableUploads(DeviceState& device) : device_(device) {}
  /// The caller has waited for the copies.
  ~TableUploads();
  TableUploads(const TableUploads&) = delete;
  TableUploads& operator=(const TableUploads&) = delete;

  /// Puts copies of the tables that have changed on `stream`. The caller may change them again when
  /// this returns. Throws DriverError; tables that were not copied are still marked as changed.
  void upload(LaunchSet& launches, CUstream stream, const Describe& what);

 private:
  struct Buffer {
    std::byte* memory = nullptr;
    std::unique_ptr<EventState> copied;  ///< recorded after the copies
    bool is_in_flight = false;           ///< `copied` has not been waited for
  };

  void allocate(std::size_t bytes, const Describe& what);
  void await(Buffer& buffer, const Describe& what) const;

  DeviceState& device_;
  void* pinned_ = nullptr;  ///< the memory of all buffers
  /// The same if the driver has no more pinned memory. It then copies more slowly.
  std::unique_ptr<std::byte[]> pageable_;
  std::array<Buffer, kBuffers> buffers_;
  std::size_t next_ = 0;  ///< the buffer whose last use is the oldest
};

}  // namespace sinter
