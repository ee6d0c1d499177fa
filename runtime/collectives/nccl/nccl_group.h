// NcclGroup: a rank of a communicator of NCCL, which carries out its collectives.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/collectives/nccl/nccl_call.h"
#include "runtime/collectives/nccl/nccl_handle.h"
#include "runtime/collectives/nccl/nccl_watch.h"
#include "sinter/communicator.h"

namespace sinter {

/// After a failure it is broken: the communicator is aborted, and later calls fail with the same
/// message. A forked child never destroys it.
class NcclGroup {
 public:
  static std::shared_ptr<NcclGroup> create(std::shared_ptr<NcclHandle> handle, const NcclRank& own,
                                           std::chrono::milliseconds timeout);
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  const NcclRank& own() const { return own_; }

  /// Puts the collective on its stream. Throws UserError.
  void enqueue(const CollectiveCall& call);
  void replay(const CollectiveReplay& replay);
  /// Why a collective has failed; empty if none has.
  std::string failure();

 private:
  NcclGroup(std::shared_ptr<NcclHandle> handle, const NcclRank& own,
            std::chrono::milliseconds timeout);

  void throw_if_failed() const;
  bool is_captured(CUstream stream) const;
  /// Stores the message, and aborts the communicator, unless it has failed before. `holds_use`: the
  /// caller holds handle_->use().
  void fail(const std::string& what, const std::string& why, bool holds_use);
  /// The error of the communicator; empty if another thread uses it.
  std::string find_error();

  const NcclRank own_;
  const DeviceState& device_;
  const std::chrono::milliseconds timeout_;
  const std::shared_ptr<NcclHandle> handle_;
  mutable std::mutex failure_mutex_;
  std::string failure_;
  std::unique_ptr<NcclWatch> watch_;  ///< ends before everything that it uses
};

}  // namespace sinter
