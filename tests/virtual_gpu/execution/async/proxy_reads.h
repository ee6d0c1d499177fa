// ProxyReads: whether proxy fences separate reads of shared memory from writes of the async proxy.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tests/virtual_gpu/checks/happens_before.h"

namespace sinter::virtual_gpu {

/// Of the shared memory of a block. A barrier does not order a read of the generic proxy before a
/// write of the async proxy. Each reading thread needs a `fence.proxy.async` between its read and
/// the barrier. Words of 4 bytes are compared.
class ProxyReads {
 public:
  /// Lanes of a warp of the block read these bytes of its shared memory.
  void read(std::uint64_t offset, std::uint64_t bytes, std::uint32_t warp, Mask lanes,
            std::int32_t line);
  /// A thread of the block fences shared memory.
  void fence(std::uint32_t warp, std::uint32_t lane, const AccessStamp& stamp);
  /// The line of a read of these bytes that no fence of its thread separates from the next access
  /// of `thread`.
  std::optional<std::int32_t> find_unfenced(std::uint64_t offset, std::uint64_t bytes,
                                            const ThreadClock& thread,
                                            const HappensBefore& order) const;
  /// The async proxy has written the bytes.
  void forget(std::uint64_t offset, std::uint64_t bytes);

 private:
  /// Reads of lanes of a warp. A later read of the same lane replaces an earlier one.
  struct Read {
    std::uint32_t warp = 0;
    std::uint32_t fences = 0;  ///< of the lanes, before the read
    Mask lanes = 0;
    std::int32_t line = 0;
  };
  /// The fences of the lanes of a warp, oldest first.
  using Fences = std::array<std::vector<AccessStamp>, 32>;

  std::vector<std::vector<Read>> words_;  ///< by offset / 4
  std::vector<Fences> fences_;            ///< by warp
};

}  // namespace sinter::virtual_gpu
