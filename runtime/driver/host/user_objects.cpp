// The entry points for user objects, which graphs, executable graphs and launches keep alive.
#include "runtime/driver/host/graph.h"

#include <climits>

#include <fmt/format.h>

namespace sinter::host {
namespace {

struct UserObjectState {
  std::mutex mutex;
  UserObjects held;  // the caller's references; the handle is removed with the last one
};

Handles<CUuserObject, UserObjectState>& user_objects() {
  return Handles<CUuserObject, UserObjectState>::all();
}

CUresult check_count(unsigned count) {
  if (count > 0 && count <= INT_MAX) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, fmt::format("{} references", count));
}

CUresult no_such_object() {
  return fail(CUDA_ERROR_INVALID_VALUE, "that user object does not exist (any more)");
}

/// Takes `count` references from the caller. Empty if the caller has fewer.
UserObjects take(CUuserObject object, UserObjectState& state, unsigned count) {
  UserObjects taken;
  const std::lock_guard lock(state.mutex);
  if (state.held.size() < count) return taken;
  taken.assign(state.held.end() - count, state.held.end());
  state.held.resize(state.held.size() - count);
  if (state.held.empty()) user_objects().remove(object);
  return taken;
}

CUresult fewer_references() {
  return fail(CUDA_ERROR_INVALID_VALUE, "the caller has fewer references to the user object");
}

}  // namespace

namespace entry {

CUresult cuUserObjectCreate(CUuserObject* object, void* pointer, CUhostFn destroy,
                            unsigned references, unsigned flags) {
  if (!object || !destroy || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
    return fail(CUDA_ERROR_INVALID_VALUE,
                "a user object needs a destructor and the flag NO_DESTRUCTOR_SYNC");
  if (const CUresult result = check_count(references); result != CUDA_SUCCESS) return result;
  auto state = std::make_shared<UserObjectState>();
  state->held.reserve(references);
  const auto made = std::make_shared<UserObject>(pointer);
  state->held.assign(references, made);
  *object = user_objects().add(std::move(state));
  made->destroy = destroy;  // only now: a failed call must not destroy the object
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned count) {
  const auto state = user_objects().find(object);
  if (!state) return no_such_object();
  if (const CUresult result = check_count(count); result != CUDA_SUCCESS) return result;
  return take(object, *state, count).empty() ? fewer_references() : CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count,
                                 unsigned flags) {
  const auto state = user_objects().find(object);
  if (!state) return no_such_object();
  const auto graph_state = find_graph(graph);
  if (!graph_state) return fail(CUDA_ERROR_INVALID_VALUE, "that graph does not exist (any more)");
  if (const CUresult result = check_count(count); result != CUDA_SUCCESS) return result;
  if ((flags & ~CU_GRAPH_USER_OBJECT_MOVE) != 0)
    return fail(CUDA_ERROR_INVALID_VALUE, fmt::format("retain flags {}", flags));
  const std::lock_guard graph_lock(graph_state->mutex);
  UserObjects& all = graph_state->user_objects;
  // Before references are taken, which must not get lost. Twice the size: captures add one by one.
  if (all.capacity() - all.size() < count) all.reserve(2 * all.size() + count);
  UserObjects kept;
  if (flags == CU_GRAPH_USER_OBJECT_MOVE) {
    kept = take(object, *state, count);
  } else if (const std::lock_guard lock(state->mutex); !state->held.empty()) {
    kept.assign(count, state->held.front());
  }
  if (kept.empty()) return fewer_references();
  all.insert(all.end(), kept.begin(), kept.end());
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace sinter::host
