// Entry points: executable CUDA Graphs, and user objects.
#include <climits>

#include "tests/virtual_gpu/driver/capture.h"
#include "tests/virtual_gpu/driver/entry/arguments.h"
#include "tests/virtual_gpu/driver/launch.h"
#include "tests/virtual_gpu/driver/submission.h"

namespace sinter::virtual_gpu::driver {

namespace {

constexpr unsigned long long kAutoFreeOnLaunch = 1;
constexpr unsigned long long kUseNodePriority = 8;

/// Launches that are enqueued keep the graph, so a change is made to a copy.
GraphObject& changeable(ExecObject& exec) {
  if (exec.graph.use_count() > 1) exec.graph = copy_graph(*exec.graph);
  exec.flat = nullptr;
  return *exec.graph;
}

/// The node of `graph` that was copied from the node of the handle.
NodeObject& counterpart(const Call& call, const ExecObject& exec, GraphObject& graph,
                        CUgraphNode handle) {
  const std::shared_ptr<NodeObject> node = find_node(call, handle);
  const std::shared_ptr<GraphObject> origin = exec.origin.lock();
  require(origin && node->graph == origin.get(),
          "the node is not in the graph that was instantiated");
  for (const std::shared_ptr<NodeObject>& one : graph.nodes)
    if (one->origin == handle) return *one;
  throw Refusal(CUDA_ERROR_INVALID_VALUE, "the node is newer than the executable graph");
}

CUresult instantiate(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return enter("cuGraphInstantiateWithFlags", Needs::context, [&](Call& call) {
    require(exec, "exec is null");
    require((flags & ~(kAutoFreeOnLaunch | kUseNodePriority)) == 0, "the flags are not modelled");
    const std::shared_ptr<GraphObject> found = find_graph(call, graph);
    require(!found->is_captured_into, "the graph is being captured");
    const std::string unloaded = unloaded_kernel(*found);
    require(unloaded.empty(), unloaded.c_str());
    require(execution_order(*found).size() == found->nodes.size(), "a node depends on itself");
    const auto made = std::make_shared<ExecObject>();
    made->context = call.context;
    made->graph = copy_graph(*found);
    made->origin = found;
    call.machine.handles.add(made);
    *exec = as<CUgraphExec>(made->handle);
  });
}

CUresult set_kernel(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return enter("cuGraphExecKernelNodeSetParams", Needs::context, [&](Call& call) {
    const std::shared_ptr<ExecObject> found = find_exec(call, exec);
    require(parameters && !parameters->kern, "parameters is null, or has a kernel of a library");
    const auto function =
        call.machine.handles.find<FunctionObject>(parameters->func, CUDA_ERROR_INVALID_VALUE);
    const NodeObject& old = counterpart(call, *found, *found->graph, node);
    const auto* const launch = std::get_if<KernelLaunch>(old.operation.get());
    require(launch, "the node is no kernel");
    require(launch->function->context == function->context,
            "the context of the function cannot change");
    auto changed = make_operation(checked_launch(function, *parameters, launch));
    counterpart(call, *found, changeable(*found), node).operation = std::move(changed);
  });
}

std::shared_ptr<UserObject> find_user_object(const Call& call, CUuserObject handle) {
  return call.machine.handles.find<UserObject>(handle, CUDA_ERROR_INVALID_VALUE);
}

void check_count(unsigned count) {
  require(count > 0 && count <= INT_MAX, "the number of references is 0 or too large");
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return instantiate(exec, graph, flags);
}

CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                               std::size_t log_bytes) {
  if (error_node) *error_node = nullptr;
  if (log && log_bytes > 0) *log = '\0';
  return instantiate(exec, graph, /*flags=*/0);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return set_kernel(exec, node, parameters);
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  return enter("cuGraphExecChildGraphNodeSetParams", Needs::context, [&](Call& call) {
    const std::shared_ptr<ExecObject> found = find_exec(call, exec);
    const std::shared_ptr<GraphObject> update = find_graph(call, child);
    require(!update->is_captured_into, "the child graph is being captured");
    require(counterpart(call, *found, *found->graph, node).child != nullptr,
            "the node has no child graph");
    update_graph(*counterpart(call, *found, changeable(*found), node).child, *update);
  });
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return enter("cuGraphExecDestroy", Needs::possible_context,
               [&](Call& call) { call.machine.handles.remove(find_exec(call, exec)->handle); });
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return enter("cuGraphLaunch", Needs::context, [&](Call& call) {
    const std::shared_ptr<ExecObject> found = find_exec(call, exec);
    StreamObject& target = *find_usable_stream(call, stream);
    if (const std::string unloaded = unloaded_kernel(*found->graph); !unloaded.empty())
      throw Refusal(CUDA_ERROR_INVALID_HANDLE, unloaded);
    if (target.capture) return capture_graph(call.machine, target, copy_graph(*found->graph));
    check_legacy(call.machine, target, /*invalidates=*/true);
    enqueue_graph(call.machine, target, *found);
  });
}

CUresult cuUserObjectCreate(CUuserObject* object, void* pointer, CUhostFn destroy,
                            unsigned references, unsigned flags) {
  return enter("cuUserObjectCreate", Needs::initialization, [&](Call& call) {
    require(object && destroy, "an argument is null");
    require(flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, "the flags are unknown");
    check_count(references);
    const auto made = std::make_shared<UserObject>();
    made->destroy = {.function = destroy, .data = pointer};
    made->owned = made->total = references;
    call.machine.handles.add(made);
    *object = as<CUuserObject>(made->handle);
  });
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned count) {
  return enter("cuUserObjectRetain", Needs::initialization, [&](Call& call) {
    const std::shared_ptr<UserObject> found = find_user_object(call, object);
    check_count(count);
    found->owned += count;
    found->total += count;
  });
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned count) {
  return enter("cuUserObjectRelease", Needs::initialization, [&](Call& call) {
    const std::shared_ptr<UserObject> found = find_user_object(call, object);
    check_count(count);
    require(count <= found->owned, "the caller owns fewer references");
    found->owned -= count;
    release_references(call.machine, *found, count);
  });
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count,
                                 unsigned flags) {
  return enter("cuGraphRetainUserObject", Needs::possible_context, [&](Call& call) {
    const std::shared_ptr<GraphObject> owner = find_graph(call, graph);
    const std::shared_ptr<UserObject> found = find_user_object(call, object);
    check_count(count);
    require(flags <= CU_GRAPH_USER_OBJECT_MOVE, "the flags are unknown");
    const bool moves = flags == CU_GRAPH_USER_OBJECT_MOVE;
    require(!moves || count <= found->owned, "the caller owns fewer references");
    owner->references.emplace_back(call.machine, found, count);
    if (!moves) return;
    found->owned -= count;
    release_references(call.machine, *found, count);
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace sinter::virtual_gpu::driver
