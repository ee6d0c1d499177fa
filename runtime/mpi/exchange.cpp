#include "runtime/mpi/exchange.h"

#include <climits>
#include <cstdint>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "runtime/collectives/collective_text.h"
#include "runtime/mpi/mpi_library.h"
#include "runtime/mpi/mpi_types.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// True if the input is one part per rank.
bool has_parts(Collective kind) {
  return kind == Collective::reduce_scatter || kind == Collective::all_to_all;
}

void check_peer(std::string_view role, int rank, int size, bool may_be_none) {
  if ((may_be_none && rank == -1) || (rank >= 0 && rank < size)) return;
  throw UserError(fmt::format(
      "MPI: the {} is rank {}, but the communicator has {} ranks, from 0 on", role, rank, size));
}

/// The operations of MPI for one collective. `count` is in elements.
class Exchange {
 public:
  Exchange(const CollectiveCall& call, const MpiRank& own)
      : call_(call), own_(own), type_(mpi_type(call.dtype)) {
    count_ = static_cast<int>(has_parts(call.kind) ? call.elements / own.size : call.elements);
  }

  void run(const WaitForExchange& wait) {
    const bool is_root = own_.rank == call_.root;
    if (call_.kind == Collective::broadcast && is_root)
      std::memcpy(call_.output, call_.input, bytes());
    std::vector<MPI_Request> requests(1, MPI_REQUEST_NULL);
    const std::string_view name = start(requests);
    wait(requests, name);
    const bool receives_nothing = call_.kind == Collective::reduce_to
                                      ? !is_root
                                      : call_.kind == Collective::send_receive && call_.source < 0;
    if (receives_nothing) std::memset(call_.output, 0, bytes());
  }

 private:
  std::size_t bytes() const {
    return static_cast<std::size_t>(call_.elements) *
           static_cast<std::size_t>(size_of(call_.dtype));
  }
  MPI_Op operation() const { return mpi_operation(call_.dtype, call_.reduction); }

  /// Returns the name of the function of MPI that it called.
  std::string_view start(std::vector<MPI_Request>& requests) {
    MPI_Request* const request = requests.data();
    const MPI_Comm ranks = own_.communicator;
    const auto started = [](int code, std::string_view name) {
      check_mpi(code, name);
      return name;
    };
    switch (call_.kind) {
      case Collective::all_reduce:
        return started(
            MPI_Iallreduce(call_.input, call_.output, count_, type_, operation(), ranks, request),
            "MPI_Iallreduce");
      case Collective::all_gather:
        return started(
            MPI_Iallgather(call_.input, count_, type_, call_.output, count_, type_, ranks, request),
            "MPI_Iallgather");
      case Collective::reduce_scatter:
        return started(MPI_Ireduce_scatter_block(call_.input, call_.output, count_, type_,
                                                 operation(), ranks, request),
                       "MPI_Ireduce_scatter_block");
      case Collective::broadcast:
        return started(MPI_Ibcast(call_.output, count_, type_, call_.root, ranks, request),
                       "MPI_Ibcast");
      case Collective::reduce_to:
        return started(MPI_Ireduce(call_.input, call_.output, count_, type_, operation(),
                                   call_.root, ranks, request),
                       "MPI_Ireduce");
      case Collective::all_to_all:
        return started(
            MPI_Ialltoall(call_.input, count_, type_, call_.output, count_, type_, ranks, request),
            "MPI_Ialltoall");
      case Collective::send_receive: break;
    }
    requests.assign(2, MPI_REQUEST_NULL);
    constexpr int kTag = 0;
    if (call_.source >= 0)
      started(MPI_Irecv(call_.output, count_, type_, call_.source, kTag, ranks, &requests[0]),
              "MPI_Irecv");
    if (call_.target >= 0)
      started(MPI_Isend(call_.input, count_, type_, call_.target, kTag, ranks, &requests[1]),
              "MPI_Isend");
    return "MPI_Irecv or MPI_Isend";
  }

  const CollectiveCall& call_;
  const MpiRank own_;
  const MPI_Datatype type_;
  int count_ = 0;
};

}  // namespace

void check_exchange(const CollectiveCall& call, const MpiRank& own) {
  if (!call.is_host_device)
    throw UserError(
        "MPI carries values of host devices only, and this device is a GPU; use a communicator of "
        "NCCL for GPUs");
  if (has_reduction(call.kind) && !can_mpi_reduce(call.dtype))
    throw UserError(fmt::format(
        "MPI: values of {} can be moved but not reduced; cast them to f32, i32 or another dtype "
        "of 32 or 64 bits",
        name(call.dtype)));
  if (has_reduction(call.kind) && call.reduction == RankReduction::mean)
    throw UserError("MPI: it has no mean; divide the sum by the number of ranks");
  if (call.kind == Collective::broadcast || call.kind == Collective::reduce_to)
    check_peer("root", call.root, own.size, false);
  if (call.kind == Collective::send_receive) {
    check_peer("source", call.source, own.size, true);
    check_peer("target", call.target, own.size, true);
  }
  if (has_parts(call.kind) && call.elements % own.size != 0)
    throw UserError(
        fmt::format("MPI: {} elements cannot be divided among {} ranks", call.elements, own.size));
  const std::int64_t copies = call.kind == Collective::all_gather ? own.size : 1;
  if (call.elements > INT_MAX / copies)
    throw UserError(fmt::format(
        "MPI: an array of {} elements is too large, the limit is {}; exchange it in several parts",
        copies == 1 ? fmt::to_string(call.elements) : fmt::format("{} x {}", copies, call.elements),
        INT_MAX));
}

void exchange(const CollectiveCall& call, const MpiRank& own, const WaitForExchange& wait) {
  Exchange(call, own).run(wait);
}

}  // namespace sinter
