// Runs the blocks of a cluster in turns on one OS thread, each until it waits for the others.
#pragma once

#include "runtime/driver/host/execution/rendezvous.h"
#include "runtime/driver/host/execution/shared_memory.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace sinter::host {

class ClusterRunner {
 public:
  /// Runs the clusters [first, last) of `work`, both in blocks by linear index and multiples of
  /// `work.cluster`, up to the first failure. The kernel has barriers.
  Failure run(const BlockWork& work, std::uint64_t first, std::uint64_t last);

 private:
  /// The runner and the shared memory of one block of the cluster.
  struct Slot {
    BlockRunner runner;
    SharedMemory shared;
  };

  Failure run_cluster(const BlockWork& work, std::uint64_t first);
  Failure run_members(const BlockWork& work);

  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<BlockRunner*> members_;  // by rank
};

}  // namespace sinter::host
