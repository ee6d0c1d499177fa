// Entry points of the NCCL double: collectives, sends and receives, and groups of calls.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tests/virtual_gpu/nccl/call.h"

namespace sinter::nccl_double {

namespace {

using namespace nccl;

/// The calls of the group that this thread has begun.
struct Group {
  int depth = 0;
  std::vector<StreamCall> calls;
  ncclResult_t failure = ncclSuccess;
};

Group& group() {
  static thread_local Group own;
  return own;
}

/// How many questions the first collective takes, which connects the ranks.
constexpr int kQuestionsOfConnect = 2;

/// Puts all calls on their streams.
ncclResult_t finish(std::span<const StreamCall> calls) {
  if (calls.empty()) return ncclSuccess;
  if (const ncclResult_t result = put_on_stream(calls); result != ncclSuccess) return result;
  ncclComm& communicator = *calls[0].communicator;
  const std::lock_guard lock(state().mutex);
  if (communicator.is_blocking || std::exchange(communicator.has_connected, true))
    return ncclSuccess;
  communicator.questions_in_progress = kQuestionsOfConnect;
  communicator.waits_for_connection = calls[0].kind == StreamCall::Kind::collective;
  return ncclInProgress;
}

/// Why the communicator cannot take a call; success if it can.
ncclResult_t refusal(const StreamCall& call, const std::string& text) {
  if (!call.communicator) return ncclInvalidArgument;
  ncclComm& communicator = *call.communicator;
  const std::lock_guard lock(state().mutex);
  communicator.calls.push_back(text);
  if (communicator.is_gone()) {
    state().violate(fmt::format("{} of a communicator that was {}", text,
                                communicator.is_aborted ? "aborted" : "destroyed"));
    return ncclInvalidArgument;
  }
  if (!communicator.is_blocking && communicator.questions_in_progress > 0) {
    state().violate(fmt::format("{} while an earlier call is in progress", text));
    return ncclInvalidUsage;
  }
  if (call.kind != StreamCall::Kind::collective && group().depth == 0) {
    state().violate(fmt::format("{} outside of a group", text));
    return ncclInvalidUsage;
  }
  return communicator.error;
}

ncclResult_t add(const StreamCall& call, std::string_view name) {
  // The count of the call is that of one rank.
  const std::size_t count = call.kind == StreamCall::Kind::collective
                                ? std::min(call.sent, call.received)
                                : std::max(call.sent, call.received);
  const std::string text =
      fmt::format("{} {} type {} operation {} peer {}", name, count,
                  static_cast<int>(call.type), static_cast<int>(call.operation), call.peer);
  if (const ncclResult_t refused = refusal(call, text); refused != ncclSuccess) {
    group().failure = refused;
    return refused;
  }
  if (group().depth == 0) return finish({&call, 1});
  group().calls.push_back(call);
  return ncclSuccess;
}

std::size_t size_of_clique(ncclComm_t communicator) {
  return communicator ? communicator->clique->ranks.size() : 1;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

ncclResult_t ncclGroupStart() {
  ++group().depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group().depth == 0) return ncclInvalidUsage;
  if (--group().depth > 0) return ncclSuccess;
  const std::vector<StreamCall> calls = std::exchange(group().calls, {});
  const ncclResult_t failure = std::exchange(group().failure, ncclSuccess);
  return failure == ncclSuccess ? finish(calls) : failure;
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t communicator, cuda::CUstream stream) {
  return add({.collective = Collective::all_reduce,
              .from = from,
              .to = to,
              .sent = count,
              .received = count,
              .type = type,
              .operation = operation,
              .communicator = communicator,
              .stream = stream},
             "ncclAllReduce");
}

ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t operation, int root, ncclComm_t communicator,
                        cuda::CUstream stream) {
  return add({.collective = Collective::reduce_to,
              .from = from,
              .to = to,
              .sent = count,
              .received = count,
              .type = type,
              .operation = operation,
              .peer = root,
              .communicator = communicator,
              .stream = stream},
             "ncclReduce");
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t communicator, cuda::CUstream stream) {
  return add({.collective = Collective::broadcast,
              .from = from,
              .to = to,
              .sent = count,
              .received = count,
              .type = type,
              .peer = root,
              .communicator = communicator,
              .stream = stream},
             "ncclBroadcast");
}

ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t received,
                               ncclDataType_t type, ncclRedOp_t operation, ncclComm_t communicator,
                               cuda::CUstream stream) {
  return add({.collective = Collective::reduce_scatter,
              .from = from,
              .to = to,
              .sent = received * size_of_clique(communicator),
              .received = received,
              .type = type,
              .operation = operation,
              .communicator = communicator,
              .stream = stream},
             "ncclReduceScatter");
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t sent, ncclDataType_t type,
                           ncclComm_t communicator, cuda::CUstream stream) {
  return add({.collective = Collective::all_gather,
              .from = from,
              .to = to,
              .sent = sent,
              .received = sent * size_of_clique(communicator),
              .type = type,
              .communicator = communicator,
              .stream = stream},
             "ncclAllGather");
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cuda::CUstream stream) {
  return add({.kind = StreamCall::Kind::send,
              .from = from,
              .sent = count,
              .type = type,
              .peer = peer,
              .communicator = communicator,
              .stream = stream},
             "ncclSend");
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cuda::CUstream stream) {
  return add({.kind = StreamCall::Kind::receive,
              .to = to,
              .received = count,
              .type = type,
              .peer = peer,
              .communicator = communicator,
              .stream = stream},
             "ncclRecv");
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace sinter::nccl_double
