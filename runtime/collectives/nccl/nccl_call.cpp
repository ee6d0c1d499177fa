#include "runtime/collectives/nccl/nccl_call.h"

#include <cstdint>

#include <fmt/format.h>

#include "runtime/collectives/collective_text.h"
#include "runtime/collectives/nccl/nccl_types.h"
#include "sinter/error.h"

namespace sinter {

namespace {

using namespace nccl;

/// True if the input is one part per rank.
bool is_divided(Collective kind) {
  return kind == Collective::reduce_scatter || kind == Collective::all_to_all;
}

void check_rank(std::string_view role, int rank, int size, bool may_be_none) {
  if ((may_be_none && rank == -1) || (rank >= 0 && rank < size)) return;
  throw UserError(fmt::format("NCCL: the {} is rank {}, but the communicator has {} ranks, from 0 "
                              "on",
                              role, rank, size));
}

/// The calls of NCCL for one collective. Values that are only moved are bytes.
class NcclCall {
 public:
  NcclCall(const Nccl& library, const Driver& driver, ncclComm_t communicator,
           const CollectiveCall& call, const NcclRank& own)
      : table_(library.table),
        driver_(driver),
        communicator_(communicator),
        call_(call),
        own_(own),
        stream_(static_cast<CUstream>(call.stream)) {}

  ncclResult_t enqueue() {
    const auto size = static_cast<std::size_t>(own_.size);
    switch (call_.kind) {
      case Collective::all_reduce:
        return table_.ncclAllReduce(call_.input, call_.output, elements(), nccl_type(call_.dtype),
                                    nccl_operation(call_.reduction), communicator_, stream_);
      case Collective::reduce_scatter:
        return table_.ncclReduceScatter(call_.input, call_.output, elements() / size,
                                        nccl_type(call_.dtype), nccl_operation(call_.reduction),
                                        communicator_, stream_);
      case Collective::reduce_to:
        if (own_.rank != call_.root) clear_output();
        return table_.ncclReduce(call_.input, call_.output, elements(), nccl_type(call_.dtype),
                                 nccl_operation(call_.reduction), call_.root, communicator_,
                                 stream_);
      case Collective::all_gather:
        return table_.ncclAllGather(call_.input, call_.output, bytes(), ncclUint8, communicator_,
                                    stream_);
      case Collective::broadcast:
        return table_.ncclBroadcast(call_.input, call_.output, bytes(), ncclUint8, call_.root,
                                    communicator_, stream_);
      case Collective::all_to_all: return in_group([&] { return exchange_parts(bytes() / size); });
      case Collective::send_receive: break;
    }
    if (call_.source < 0) clear_output();
    if (call_.source < 0 && call_.target < 0) return ncclSuccess;
    return in_group([&] { return exchange_with_peers(); });
  }

 private:
  std::size_t elements() const { return static_cast<std::size_t>(call_.elements); }
  std::size_t bytes() const { return elements() * static_cast<std::size_t>(size_of(call_.dtype)); }

  void clear_output() {
    sinter::check(driver_,
                  driver_.cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(call_.output), 0, bytes(),
                                          stream_),
                  "cuMemsetD8Async", [&] { return describe(call_); });
  }

  /// The group must also end after a failure. The first failure counts.
  template <class Calls>
  ncclResult_t in_group(Calls calls) {
    if (const ncclResult_t begun = table_.ncclGroupStart(); begun != ncclSuccess) return begun;
    const ncclResult_t called = calls();
    const ncclResult_t ended = table_.ncclGroupEnd();
    return called == ncclSuccess || called == ncclInProgress ? ended : called;
  }

  ncclResult_t exchange_parts(std::size_t part_bytes) {
    const auto* const from = static_cast<const std::byte*>(call_.input);
    auto* const to = static_cast<std::byte*>(call_.output);
    for (int peer = 0; peer < own_.size; ++peer) {
      const std::size_t begin = static_cast<std::size_t>(peer) * part_bytes;
      ncclResult_t result =
          table_.ncclSend(from + begin, part_bytes, ncclUint8, peer, communicator_, stream_);
      if (result == ncclSuccess || result == ncclInProgress)
        result = table_.ncclRecv(to + begin, part_bytes, ncclUint8, peer, communicator_, stream_);
      if (result != ncclSuccess && result != ncclInProgress) return result;
    }
    return ncclSuccess;
  }

  ncclResult_t exchange_with_peers() {
    ncclResult_t result = ncclSuccess;
    if (call_.target >= 0)
      result = table_.ncclSend(call_.input, bytes(), ncclUint8, call_.target, communicator_,
                               stream_);
    if (call_.source >= 0 && (result == ncclSuccess || result == ncclInProgress))
      result = table_.ncclRecv(call_.output, bytes(), ncclUint8, call_.source, communicator_,
                               stream_);
    return result;
  }

  const Table& table_;
  const Driver& driver_;
  const ncclComm_t communicator_;
  const CollectiveCall& call_;
  const NcclRank own_;
  const CUstream stream_;
};

}  // namespace

void check_nccl_call(const CollectiveCall& call, const NcclRank& own) {
  if (call.is_host_device)
    throw UserError(
        "NCCL carries values of GPUs only, and this device is a host device; use "
        "Communicator::mpi for host devices");
  if (call.device != own.device)
    throw UserError(
        fmt::format("NCCL: the program runs on cuda:{}, but the communicator is of cuda:{}; make "
                    "the communicator of a rank with the device of its program",
                    call.device, own.device));
  if (has_reduction(call.kind) && !can_nccl_reduce(call.dtype))
    throw UserError(fmt::format(
        "NCCL: values of {} can be moved but not reduced; cast them to f32, i32 or another dtype "
        "of 32 or 64 bits",
        name(call.dtype)));
  if (has_reduction(call.kind) && call.reduction == RankReduction::mean)
    throw UserError("NCCL: sinter asks it for no mean; divide the sum by the number of ranks");
  if (call.kind == Collective::broadcast || call.kind == Collective::reduce_to)
    check_rank("root", call.root, own.size, false);
  if (call.kind == Collective::send_receive) {
    check_rank("source", call.source, own.size, true);
    check_rank("target", call.target, own.size, true);
  }
  if (is_divided(call.kind) && call.elements % own.size != 0)
    throw UserError(fmt::format("NCCL: {} elements cannot be divided among {} ranks", call.elements,
                                own.size));
}

ncclResult_t put_on_stream(const Nccl& library, const Driver& driver, ncclComm_t communicator,
                           const CollectiveCall& call, const NcclRank& own) {
  return NcclCall(library, driver, communicator, call, own).enqueue();
}

}  // namespace sinter
