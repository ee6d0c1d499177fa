// User objects: what graphs, what is made from them, and launches of that keep alive.
#include "runtime/host_driver/graph.h"

#include <climits>

#include <fmt/format.h>

namespace sinter::host {
namespace {

struct UserObjectState {
  std::mutex mutex;
  std::weak_ptr<const UserObject> object;
  UserObjects held;  // the caller's own references
};

Handles<CUuserObject, UserObjectState>& user_objects() {
  static auto* const handles = new Handles<CUuserObject, UserObjectState>;
  return *handles;
}

CUresult check_count(unsigned count) {
  if (count > 0 && count <= INT_MAX) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, fmt::format("{} references", count));
}

CUresult no_such_object() {
  return fail(CUDA_ERROR_INVALID_VALUE, "that user object does not exist (any more)");
}

/// Takes `count` of the caller's references; none if there are not so many.
UserObjects take(UserObjectState& state, unsigned count) {
  UserObjects taken;
  if (state.held.size() < count) return taken;
  taken.assign(state.held.end() - count, state.held.end());
  state.held.resize(state.held.size() - count);
  return taken;
}

}  // namespace

void drop_user_objects() { user_objects().clear(); }

namespace entry {

CUresult cuUserObjectCreate(CUuserObject* object, void* pointer, CUhostFn destroy,
                            unsigned references, unsigned flags) {
  if (!object || !destroy || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
    return fail(CUDA_ERROR_INVALID_VALUE, "a user object needs a destructor, and the one flag");
  if (const CUresult result = check_count(references); result != CUDA_SUCCESS) return result;
  auto state = std::make_shared<UserObjectState>();
  state->held.reserve(references);
  const auto made = std::make_shared<const UserObject>(pointer, destroy);
  state->object = made;
  state->held.assign(references, made);
  *object = user_objects().add(std::move(state));
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned count) {
  const auto state = user_objects().find(object);
  if (!state || state->object.expired()) return no_such_object();
  if (const CUresult result = check_count(count); result != CUDA_SUCCESS) return result;
  UserObjects released;  // its destructor runs outside of the lock
  const std::lock_guard lock(state->mutex);
  released = take(*state, count);
  if (released.empty())
    return fail(CUDA_ERROR_INVALID_VALUE, "fewer references to the user object are the caller's");
  return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count,
                                 unsigned flags) {
  const auto state = user_objects().find(object);
  const std::shared_ptr<const UserObject> kept = state ? state->object.lock() : nullptr;
  if (!kept) return no_such_object();
  const auto graph_state = find_graph(graph);
  if (!graph_state) return fail(CUDA_ERROR_INVALID_VALUE, "that graph does not exist (any more)");
  if (const CUresult result = check_count(count); result != CUDA_SUCCESS) return result;
  if ((flags & ~CU_GRAPH_USER_OBJECT_MOVE) != 0)
    return fail(CUDA_ERROR_INVALID_VALUE, fmt::format("retain flags {}", flags));
  if (flags == CU_GRAPH_USER_OBJECT_MOVE) {
    const std::lock_guard lock(state->mutex);
    if (take(*state, count).empty())
      return fail(CUDA_ERROR_INVALID_VALUE, "fewer references to the user object are the caller's");
  }
  const std::lock_guard lock(graph_state->mutex);
  graph_state->user_objects.insert(graph_state->user_objects.end(), count, kept);
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace sinter::host
