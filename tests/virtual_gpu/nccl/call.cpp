#include "tests/virtual_gpu/nccl/call.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "tests/virtual_gpu/nccl/driver_calls.h"

namespace sinter::nccl_double {

namespace {

using namespace nccl;

constexpr int kDeviceOrdinalOfPointer = 9;  ///< CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
constexpr unsigned kPortable = 1;           ///< CU_MEMHOSTALLOC_PORTABLE

/// A result that is not success, from within a sequence of calls.
struct Failure {
  ncclResult_t result;
  std::string why;
};

DType dtype_of(ncclDataType_t type) {
  constexpr std::array kTypes = {i8, u8, i32, u32, i64, u64, f16, f32, f64, bf16};
  const auto index = static_cast<std::size_t>(type);
  if (index >= kTypes.size()) throw Failure{ncclInvalidArgument, "an unknown data type"};
  return kTypes[index];
}

void check(cuda::CUresult result, const char* call) {
  if (result != 0)
    throw Failure{ncclUnhandledCudaError,
                  fmt::format("{} failed with {}", call, static_cast<int>(result))};
}

void check_pointer(const StreamCall& call, const void* pointer, std::size_t bytes) {
  if (bytes == 0) return;
  int device = -1;
  const cuda::CUresult asked = driver_calls().cuPointerGetAttribute(
      &device, kDeviceOrdinalOfPointer, reinterpret_cast<cuda::CUdeviceptr>(pointer));
  if (asked != 0 || device != call.communicator->device)
    throw Failure{ncclInvalidArgument,
                  fmt::format("{} is not memory of cuda:{}", pointer, call.communicator->device)};
}

std::byte* host_memory(std::size_t bytes) {
  void* pointer = nullptr;
  // It is never freed, because a CUDA Graph may use it.
  if (bytes > 0) check(driver_calls().cuMemHostAlloc(&pointer, bytes, kPortable), "cuMemHostAlloc");
  return static_cast<std::byte*>(pointer);
}

/// Copies the input to the host, in the order of the stream.
std::byte* stage_input(const StreamCall& call, std::size_t bytes) {
  check_pointer(call, call.from, bytes);
  std::byte* const staging = host_memory(bytes);
  if (bytes > 0)
    check(driver_calls().cuMemcpyDtoHAsync(
              staging, reinterpret_cast<cuda::CUdeviceptr>(call.from), bytes, call.stream),
          "cuMemcpyDtoHAsync");
  return staging;
}

void store_output(const StreamCall& call, const std::byte* staging, std::size_t bytes) {
  if (bytes > 0)
    check(driver_calls().cuMemcpyHtoDAsync(reinterpret_cast<cuda::CUdeviceptr>(call.to), staging,
                                           bytes, call.stream),
          "cuMemcpyHtoDAsync");
}

void put_meeting(Meeting* meeting, cuda::CUstream stream) {
  check(driver_calls().virtualGpuLaunchWhenReady(stream, is_ready, run, meeting),
        "virtualGpuLaunchWhenReady");
}

/// A destructor of a CUDA Graph.
void forget_graph(void* communicator) {
  const std::lock_guard lock(state().mutex);
  --static_cast<ncclComm*>(communicator)->graphs;
  state().changed.notify_all();
}

/// If the stream is captured, the graph holds the communicator.
void hold_while_graph_lives(const StreamCall& call) {
  cuda::CUstreamCaptureStatus status{};
  cuda::CUgraph graph = nullptr;
  check(driver_calls().cuStreamGetCaptureInfo(call.stream, &status, nullptr, &graph, nullptr,
                                              nullptr),
        "cuStreamGetCaptureInfo");
  if (!graph) return;
  {
    const std::lock_guard lock(state().mutex);
    ++call.communicator->graphs;
  }
  cuda::CUuserObject object = nullptr;
  check(driver_calls().cuUserObjectCreate(&object, call.communicator, forget_graph, 1,
                                          cuda::CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
        "cuUserObjectCreate");
  check(driver_calls().cuGraphRetainUserObject(graph, object, 1,
                                               cuda::CU_GRAPH_USER_OBJECT_MOVE),
        "cuGraphRetainUserObject");
}

void put_collective(const StreamCall& call) {
  const DType dtype = dtype_of(call.type);
  const auto size = static_cast<std::size_t>(size_of(dtype));
  const bool is_reduce = call.collective == Collective::reduce_to;
  const bool has_output = !is_reduce || call.peer == call.communicator->rank;
  check_pointer(call, call.to, has_output ? call.received * size : 0);
  auto* const meeting =
      new Meeting{.communicator = call.communicator,
                  .is_collective = true,
                  .collective = {.kind = call.collective,
                                 .dtype = dtype,
                                 .reduction = static_cast<RankReduction>(call.operation),
                                 .elements = static_cast<std::int64_t>(call.sent),
                                 .root = call.peer,
                                 .place = {},
                                 .on_host = {}},
                  .output_bytes = call.received * size};
  meeting->collective.input = stage_input(call, call.sent * size);
  auto* const output = host_memory(meeting->output_bytes);
  meeting->collective.output = output;
  put_meeting(meeting, call.stream);
  // ncclReduce writes on the root only.
  if (has_output) store_output(call, output, meeting->output_bytes);
}

void put_transfers(std::span<const StreamCall> calls) {
  auto* const meeting = new Meeting{.communicator = calls[0].communicator};
  for (const StreamCall& call : calls) {
    const auto size = static_cast<std::size_t>(size_of(dtype_of(call.type)));
    if (call.kind == StreamCall::Kind::send) {
      const std::size_t bytes = call.sent * size;
      meeting->sends.push_back(
          {.peer = call.peer, .staging = stage_input(call, bytes), .bytes = bytes});
    } else {
      const std::size_t bytes = call.received * size;
      check_pointer(call, call.to, bytes);
      meeting->receives.push_back(
          {.peer = call.peer, .staging = host_memory(bytes), .bytes = bytes});
    }
  }
  put_meeting(meeting, calls[0].stream);
  auto receive = meeting->receives.begin();
  for (const StreamCall& call : calls)
    if (call.kind == StreamCall::Kind::receive) {
      store_output(call, receive->staging, receive->bytes);
      ++receive;
    }
}

}  // namespace

ncclResult_t put_on_stream(std::span<const StreamCall> calls) {
  const bool has_collective =
      std::ranges::count(calls, StreamCall::Kind::collective, &StreamCall::kind) > 0;
  const bool is_mixed = std::ranges::any_of(calls, [&](const StreamCall& one) {
    return one.communicator != calls[0].communicator || one.stream != calls[0].stream;
  });
  try {
    if (is_mixed || (has_collective && calls.size() > 1))
      throw Failure{ncclInvalidUsage, "the double has no such groups"};
    hold_while_graph_lives(calls[0]);
    if (has_collective)
      put_collective(calls[0]);
    else
      put_transfers(calls);
    return ncclSuccess;
  } catch (const Failure& failure) {
    const std::lock_guard lock(state().mutex);
    calls[0].communicator->last_error = failure.why;
    return failure.result;
  }
}

}  // namespace sinter::nccl_double
