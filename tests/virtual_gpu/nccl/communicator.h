// The communicators of the NCCL double: which ranks exist, and what their streams wait for.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/collectives/nccl/nccl_abi.h"
#include "sinter/communicator.h"

namespace sinter::nccl_double {

/// One part of a group of ncclSend and ncclRecv, in host memory.
struct Transfer {
  int peer = 0;
  std::byte* staging = nullptr;
  std::size_t bytes = 0;
  bool is_done = false;  ///< in this run of the stream
};

/// Work of one rank that waits for other ranks when its stream reaches it: a collective, or a group
/// of ncclSend and ncclRecv. A CUDA Graph runs it again and again.
struct Meeting {
  nccl::ncclComm_t communicator = nullptr;
  bool is_collective = false;
  CollectiveCall collective = {};  ///< its arrays are in host memory
  std::size_t output_bytes = 0;
  std::vector<Transfer> sends = {}, receives = {};
  bool has_arrived = false;
  bool is_done = false;
};

/// The ranks with one unique id.
struct Clique {
  std::vector<nccl::ncclComm_t> ranks;  ///< null: it has not joined
  std::size_t joined = 0;
  std::vector<Meeting*> arrived;  ///< the collective that each rank's stream has reached
  /// Transfers that the stream of one side has reached, by sender and receiver.
  std::map<std::pair<int, int>, std::deque<Transfer*>> sends, receives;
};

/// The state of the process. Its lock is never held during a call of the driver.
struct State {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::shared_ptr<Clique>> cliques;  ///< by unique id
  std::vector<nccl::ncclComm_t> communicators;             ///< all, also destroyed ones
  std::string violations;
  std::string last_error;
  int ids = 0;

  /// Notes a misuse of the API, which no test may contain.
  void violate(std::string_view what);
};
State& state();

/// cuLaunchHostFunc and virtualGpuLaunchWhenReady call these with a Meeting.
int is_ready(void* meeting);
void run(void* meeting);

}  // namespace sinter::nccl_double

namespace sinter::nccl {

struct ncclComm {
  std::shared_ptr<nccl_double::Clique> clique;
  int rank = 0;
  int device = 0;
  bool is_blocking = true;
  /// Questions about the state that are answered by ncclInProgress.
  int questions_in_progress = 0;
  bool has_connected = false;  ///< it has begun its first collective
  /// Its first collective is complete once all ranks have begun theirs.
  bool waits_for_connection = false;
  bool is_finalized = false;
  bool is_aborted = false;
  bool is_destroyed = false;
  int graphs = 0;  ///< CUDA Graphs that hold its operations, each once per operation
  ncclResult_t error = ncclSuccess;
  std::string last_error = {};
  std::vector<std::string> calls = {};

  bool is_gone() const { return is_aborted || is_destroyed; }
  bool has_all_ranks() const { return clique->joined == clique->ranks.size(); }
};

}  // namespace sinter::nccl
