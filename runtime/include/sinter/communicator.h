// Communicators: the engines that carry collectives (sinter/collectives.h) between devices.
//
//     const Communicator data = Communicator::mpi();
//     Context context = step.context({{"data", data}});
//     context.run(stream, inputs, outputs);
//
// sinter has no transport of its own: NCCL carries values between GPUs, and MPI between host
// devices.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sinter/collectives.h"
#include "sinter/dtype.h"
#include "sinter/error.h"

namespace sinter {

class Device;

/// The kinds of collectives, which are ops of the same names.
enum class Collective : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce_to,
  all_to_all,
  send_receive
};

/// One collective, as one rank sees it. `place` and `on_host` are valid during `enqueue` only.
struct CollectiveCall {
  Collective kind = Collective::all_reduce;
  DType dtype = f32;
  RankReduction reduction = RankReduction::sum;  ///< of reductions; never the mean
  std::int64_t elements = 0;                     ///< of `input` on every rank
  int root = 0;                                  ///< of broadcast and reduce_to
  int source = -1;  ///< of send_receive: the rank that sends to this one; -1: none
  int target = -1;  ///< of send_receive: the rank to which this one sends; -1: none
  const void* input = nullptr;  ///< row-major; does not overlap `output`
  void* output = nullptr;
  std::string_view place;  ///< the location in the user's source that recorded it

  void* stream = nullptr;       ///< a CUstream, which may be captured
  bool is_host_device = false;  ///< the arrays are in host memory
  int device = 0;               ///< the number of the device among those of its kind
  /// Enqueues work that the CPU runs when the stream reaches it. It must not call sinter or CUDA.
  std::function<void(std::function<void()>)> on_host;
};

/// A launch of a CUDA Graph that contains collectives.
struct CollectiveReplay {
  void* stream = nullptr;                         ///< a CUstream, which is not captured
  std::shared_ptr<const std::string> collectives;  ///< their names and places, for messages
  std::function<void()> launch;                   ///< puts the graph on the stream
};

/// Carries the collectives of one group of ranks. Implementations: NCCL, MPI, or the user's.
class CommunicatorEngine {
 public:
  virtual ~CommunicatorEngine() = default;
  /// `NCCL`, for messages.
  virtual std::string_view name() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Throws UserError if the engine cannot carry out `call`. Its arrays and its stream are null.
  virtual void check(const CollectiveCall& call) const = 0;
  /// Puts the collective on the stream of `call`. Calls on streams that are not captured come in the
  /// same order on all ranks. On captured streams a rank may repeat calls when its addresses change,
  /// in any order; all ranks launch the captured graphs in the same order.
  virtual void enqueue(const CollectiveCall& call) = 0;
  /// Launches a CUDA Graph with collectives that `enqueue` has put on a captured stream. Throws
  /// UserError instead if they cannot run any more.
  virtual void replay(const CollectiveReplay& replay) { replay.launch(); }
  /// Why a collective has failed that was enqueued before; empty if none has.
  virtual std::string failure() const { return {}; }
};

struct MpiOptions {
  /// A collective that a rank waits for longer than this fails, on this rank and for good. It must
  /// exceed the longest time by which one rank may be ahead of another, compilation included.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
};

struct NcclOptions {
  /// A rank whose collectives and replays make no progress for longer than this fails for good. It
  /// must exceed the longest replay, and the longest time by which one rank may be ahead of another.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
};

/// The name of a new group of ranks. One rank gets it from nccl_unique_id() and sends it to the
/// others.
struct NcclUniqueId {
  std::array<char, 128> bytes = {};
};

/// A new name. Throws UserError if NCCL is missing.
NcclUniqueId nccl_unique_id();

/// A rank in a group of ranks: a handle of an engine, cheap to copy. The collectives of one
/// communicator run one after another, so concurrent Contexts need communicators of their own.
class Communicator {
 public:
  /// An engine of the program. Throws UserError if it is null.
  explicit Communicator(std::shared_ptr<CommunicatorEngine> engine) : engine_(std::move(engine)) {
    if (!engine_) throw UserError("Communicator: the engine is null; pass one");
  }

  /// All processes that `mpirun` started, or those of an `MPI_Comm`, to which `communicator`
  /// points. Carries values of host devices. Initialises MPI if the program has not. All ranks must
  /// call it together: it duplicates the communicator. They create all their communicators in the
  /// same order, and destroy them in the same order. Programs that call it link sinter::mpi.
  ///
  /// If a rank ends or is late, the other ranks give up the exchange, but MPI does not: it may still
  /// write into the arrays. Keep the arrays and Contexts of that run until the process ends. They are
  /// yours to keep: sinter itself keeps only the memory in which it compares calls.
  ///
  /// After such a failure, MPI_Finalize may wait for ever. sinter does not call it then. A program
  /// that has initialised MPI itself ends by MPI_Abort or _exit instead.
  ///
  /// Throws UserError if MPI was initialised without MPI_THREAD_MULTIPLE, or after MPI_Finalize.
  static Communicator mpi(const MpiOptions& options = {});
  static Communicator mpi(const void* communicator, const MpiOptions& options = {});

  /// Rank `rank` of `size` ranks, each on a GPU of its own. All ranks must call it together, in
  /// threads or processes of their own, with the same `id`. Opens NCCL 2.18 or later at run time.
  ///
  /// A rank that waits longer than the timeout for another one fails with UserError, and does not
  /// hang. Launches of CUDA Graphs that the program has captured itself are not timed.
  static Communicator nccl(const NcclUniqueId& id, int rank, int size, const Device& device,
                           const NcclOptions& options = {});
  /// Uses an `ncclComm_t` of the NCCL library that `sinter devices` shows. Create it with
  /// `ncclConfig_t::blocking` 0: a blocking one hangs in its first collective if a rank is missing.
  /// It must live as long as this and is not destroyed. If a collective fails or is late, it is
  /// aborted (ncclCommAbort): it must not be used after that.
  static Communicator nccl(void* communicator, const NcclOptions& options = {});

  int rank() const { return engine_->rank(); }
  int size() const { return engine_->size(); }
  /// Throws UserError if a collective has failed, because a rank ended or was late. The results are
  /// undefined then. Call it after a stream is synchronised, before results are used. MPI also tells
  /// if a rank ran another collective. NCCL does not compare them: such ranks end at the timeout, or
  /// their results are undefined.
  void check() const {
    if (const std::string failure = engine_->failure(); !failure.empty()) throw UserError(failure);
  }
  const std::shared_ptr<CommunicatorEngine>& engine() const { return engine_; }

 private:
  std::shared_ptr<CommunicatorEngine> engine_;
};

/// The communicator of a group of ranks, for `Executable::context`.
struct GroupCommunicator {
  std::string_view group;
  Communicator communicator;
};

}  // namespace sinter
