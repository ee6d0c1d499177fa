// The private state of HappensBefore: launches, released clocks, and cluster barriers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/virtual_gpu/checks/happens_before.h"

namespace sinter::virtual_gpu {

struct LaunchRecord {
  std::string name = {};
  std::function<bool(std::uint32_t)> is_ordered = {};
  std::vector<std::uint32_t> waits_for = {};
  std::shared_ptr<const Clock> wait_clock = {};  ///< of `waits_for`; made when first needed
  bool has_waited = false;                       ///< a thread has executed `griddepcontrol.wait`
  std::uint32_t prefix = 0;         ///< all launches up to this one are ordered before it
  std::uint32_t first_segment = 0;  ///< the next segment when the launch began
  std::uint32_t ordered_below = 0;  ///< segments of launches up to `prefix` only
  std::unordered_map<std::uint32_t, bool> order_of = {};  ///< answers of is_ordered
};

/// The release sequence of the last strong write at an address.
struct Released {
  std::shared_ptr<const Clock> clock = {};
  std::uint32_t launch = 0;  ///< of the last writer
};

/// The arrivals of the threads of one block at a cluster barrier.
struct Arrivals {
  std::vector<ThreadPoint> threads = {};
  std::uint32_t known = 0;
  bool has_relaxed = false;
};

/// A cluster barrier.
struct ClusterPhase {
  std::map<std::uint32_t, Arrivals> blocks = {};
  std::shared_ptr<const Clock> known = {};      ///< by the arriving threads, of other blocks
  std::shared_ptr<const Clock> last_base = {};  ///< already joined
  std::shared_ptr<const Clock> result = {};     ///< made at the first wait
  std::uint32_t launch = 0;
  std::uint64_t arrived = 0, waited = 0;
};

struct HappensBefore::State {
  std::vector<LaunchRecord> launches = std::vector<LaunchRecord>(1);  ///< by serial number
  std::vector<std::uint32_t> early = {};  ///< launches that wait for others themselves
  std::uint32_t retired = 0;
  std::uint32_t cleared = 0;  ///< launches up to this one have only a name
  std::unordered_map<std::uint64_t, Released> released = {};
  std::unordered_map<std::uint64_t, ClusterPhase> phases = {};
};

}  // namespace sinter::virtual_gpu
