// Built without the thread sanitizer, for the reason in rendezvous.cpp.
#include "runtime/driver/host/execution/cluster_rendezvous.h"

#include <fmt/format.h>

namespace sinter::host {

using namespace cuda;

Failure ClusterRunner::run(const BlockWork& work, std::uint64_t first, std::uint64_t last) {
  while (slots_.size() < work.cluster) slots_.push_back(std::make_unique<Slot>());
  members_.clear();
  for (unsigned rank = 0; rank < work.cluster; ++rank) members_.push_back(&slots_[rank]->runner);
  for (; first < last; first += work.cluster) {
    Failure failure = run_cluster(work, first);
    if (failure.code == CUDA_SUCCESS) continue;
    for (BlockRunner* member : members_) member->drop();
    return failure;
  }
  return {};
}

Failure ClusterRunner::run_cluster(const BlockWork& work, std::uint64_t first) {
  for (unsigned rank = 0; rank < work.cluster; ++rank) {
    BlockWork own = work;
    own.shared = slots_[rank]->shared.part(work.shared_bytes);
    if (!members_[rank]->start(own, first + rank, members_))
      return {CUDA_ERROR_OUT_OF_MEMORY, "there is no memory for the stacks of a cluster's threads"};
  }
  return run_members(work);
}

/// Resumes all blocks in rounds. Each round ends at the next cluster barrier.
Failure ClusterRunner::run_members(const BlockWork& work) {
  for (;;) {
    const BlockRunner* waits = nullptr;
    const BlockRunner* returned = nullptr;
    for (unsigned i = 0; i < work.cluster; ++i) {
      BlockRunner& member = *members_[work.reversed ? work.cluster - 1 - i : i];
      switch (member.resume()) {
        case BlockRunner::Pause::waits: waits = &member; break;
        case BlockRunner::Pause::failed: return member.take_failure();
        case BlockRunner::Pause::returned:
          returned = &member;
          if (Failure failure = member.take_failure(); failure.code != CUDA_SUCCESS) return failure;
      }
    }
    if (!waits) return {};
    if (returned)
      return {CUDA_ERROR_LAUNCH_FAILED,
              fmt::format("kernel {}, block {}: waits at cluster_wait(), but block {} of its "
                          "cluster has returned",
                          work.kernel->entry, waits->block_text(), returned->block_text())};
  }
}

}  // namespace sinter::host
