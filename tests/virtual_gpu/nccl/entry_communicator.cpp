// Entry points of the NCCL double: versions, errors, and the life of communicators.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "tests/virtual_gpu/nccl/communicator.h"
#include "tests/virtual_gpu/nccl/driver_calls.h"

namespace sinter::nccl_double {

namespace {

using namespace nccl;

constexpr int kVersion = 22703;
/// How many questions a call in the background takes.
constexpr int kQuestionsOfInit = 2, kQuestionsOfFinalize = 1;

/// The lock and the communicator, if it may be used.
struct Use {
  std::unique_lock<std::mutex> lock{state().mutex};
  ncclResult_t refusal = ncclSuccess;

  Use(ncclComm_t communicator, std::string_view call) {
    state().last_error.clear();
    if (!communicator) {
      refusal = ncclInvalidArgument;
    } else if (communicator->is_gone()) {
      state().violate(fmt::format("{} of a communicator that was {}", call,
                                  communicator->is_aborted ? "aborted" : "destroyed"));
      refusal = ncclInvalidArgument;
    }
  }
};

/// A rank joins the others of its unique id. Null if it cannot.
ncclComm_t join(const std::string& id, int size, int rank, int device) {
  std::shared_ptr<Clique>& clique = state().cliques[id];
  if (!clique) {
    clique = std::make_shared<Clique>();
    clique->ranks.resize(static_cast<std::size_t>(size));
    clique->arrived.resize(static_cast<std::size_t>(size));
  }
  for (const ncclComm_t other : clique->ranks)
    if (other && other->device == device) {
      state().last_error = fmt::format("Duplicate GPU detected : rank {} and rank {} both on CUDA "
                                       "device {}",
                                       rank, other->rank, device);
      return nullptr;
    }
  ncclComm_t& place = clique->ranks[static_cast<std::size_t>(rank)];
  place = new ncclComm{.clique = clique, .rank = rank, .device = device};
  state().communicators.push_back(place);
  ++clique->joined;
  state().changed.notify_all();
  return place;
}

/// NCCL does not return from the end of a communicator while a CUDA Graph with its operations lives.
void wait_for_graphs(const ncclComm& communicator, Use& use) {
  state().changed.wait(use.lock, [&] { return communicator.graphs == 0; });
}

bool waits_for_connection(const ncclComm& communicator) {
  return communicator.waits_for_connection &&
         !std::ranges::all_of(communicator.clique->ranks, &ncclComm::has_connected);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  const char* const wanted = std::getenv("NCCL_DOUBLE_VERSION");
  *version = wanted ? std::atoi(wanted) : kVersion;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error";
    case ncclSystemError: return "unhandled system error";
    case ncclInvalidArgument: return "invalid argument";
    case ncclInvalidUsage: return "invalid usage";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
    default: return "internal error";
  }
}

const char* ncclGetLastError(ncclComm_t communicator) {
  static thread_local std::string text;
  const std::lock_guard lock(state().mutex);
  text = communicator ? communicator->last_error : state().last_error;
  return text.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const std::lock_guard lock(state().mutex);
  std::memset(id->internal, 0, sizeof(id->internal));
  fmt::format_to_n(id->internal, sizeof(id->internal), "double {}", ++state().ids);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  int device = 0;
  if (driver_calls().cuCtxGetDevice(&device) != 0) return ncclUnhandledCudaError;
  if (config->magic != 0xcafebeef || config->version < 21800 || rank < 0 || rank >= size)
    return ncclInvalidArgument;
  std::unique_lock lock(state().mutex);
  *communicator = join(std::string(id.internal, sizeof(id.internal)), size, rank, device);
  if (!*communicator) return ncclInvalidUsage;
  ncclComm& made = **communicator;
  made.is_blocking = config->blocking != 0;
  made.questions_in_progress = kQuestionsOfInit;
  if (!made.is_blocking) return ncclInProgress;
  const bool is_complete = state().changed.wait_for(lock, std::chrono::seconds(60),
                                                    [&] { return made.has_all_ranks(); });
  return is_complete ? ncclSuccess : ncclSystemError;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* error) {
  const Use use(communicator, "ncclCommGetAsyncError");
  if (use.refusal != ncclSuccess) return use.refusal;
  *error = communicator->error;
  if (communicator->is_blocking || *error != ncclSuccess) return ncclSuccess;
  const bool waits = !communicator->has_all_ranks() || waits_for_connection(*communicator) ||
                     communicator->questions_in_progress > 0;
  if (waits) *error = ncclInProgress;
  if (communicator->questions_in_progress > 0) --communicator->questions_in_progress;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  const Use use(communicator, "ncclCommFinalize");
  if (use.refusal != ncclSuccess) return use.refusal;
  communicator->is_finalized = true;
  communicator->questions_in_progress = kQuestionsOfFinalize;
  return communicator->is_blocking ? ncclSuccess : ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  Use use(communicator, "ncclCommDestroy");
  if (use.refusal != ncclSuccess) return use.refusal;
  if (!communicator->is_blocking &&
      (!communicator->is_finalized || communicator->questions_in_progress > 0))
    state().violate("ncclCommDestroy of a communicator that is not finalised");
  wait_for_graphs(*communicator, use);
  communicator->is_destroyed = true;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  Use use(communicator, "ncclCommAbort");
  if (use.refusal != ncclSuccess) return use.refusal;
  communicator->is_aborted = true;
  wait_for_graphs(*communicator, use);
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t communicator, int* size) {
  const Use use(communicator, "ncclCommCount");
  if (use.refusal != ncclSuccess) return use.refusal;
  *size = static_cast<int>(communicator->clique->ranks.size());
  return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t communicator, int* device) {
  const Use use(communicator, "ncclCommCuDevice");
  if (use.refusal != ncclSuccess) return use.refusal;
  *device = communicator->device;
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t communicator, int* rank) {
  const Use use(communicator, "ncclCommUserRank");
  if (use.refusal != ncclSuccess) return use.refusal;
  *rank = communicator->rank;
  return ncclSuccess;
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace sinter::nccl_double
