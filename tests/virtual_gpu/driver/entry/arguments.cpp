#include "tests/virtual_gpu/driver/entry/arguments.h"

#include <algorithm>

#include "tests/virtual_gpu/driver/submission.h"

namespace sinter::virtual_gpu::driver {

std::shared_ptr<StreamObject> find_stream(const Call& call, CUstream handle) {
  if (!handle || handle == legacy_stream()) return call.context->legacy;
  if (handle != per_thread_stream())
    return call.machine.handles.find<StreamObject>(handle, CUDA_ERROR_INVALID_HANDLE);
  std::shared_ptr<StreamObject>& stream = call.context->per_thread[std::this_thread::get_id()];
  if (!stream) stream = make_stream(call.machine, *call.context, {});
  return stream;
}

std::shared_ptr<StreamObject> find_usable_stream(const Call& call, CUstream handle) {
  std::shared_ptr<StreamObject> stream = find_stream(call, handle);
  if (stream->context->failure != CUDA_SUCCESS)
    throw Refusal(stream->context->failure, "the context of the stream has failed");
  return stream;
}

std::shared_ptr<EventObject> find_event(const Call& call, CUevent handle) {
  return call.machine.handles.find<EventObject>(handle, CUDA_ERROR_INVALID_HANDLE);
}

std::shared_ptr<GraphObject> find_graph(const Call& call, CUgraph handle) {
  return call.machine.handles.find<GraphObject>(handle, CUDA_ERROR_INVALID_VALUE);
}

std::shared_ptr<NodeObject> find_node(const Call& call, CUgraphNode handle) {
  return call.machine.handles.find<NodeObject>(handle, CUDA_ERROR_INVALID_VALUE);
}

std::shared_ptr<ExecObject> find_exec(const Call& call, CUgraphExec handle) {
  return call.machine.handles.find<ExecObject>(handle, CUDA_ERROR_INVALID_VALUE);
}

std::vector<Edge> find_dependencies(const Call& call, const GraphObject& graph,
                                    const CUgraphNode* dependencies, std::size_t count) {
  require(count == 0 || dependencies, "dependencies is null");
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < count; ++i) {
    const std::shared_ptr<NodeObject> node = find_node(call, dependencies[i]);
    require(node->graph == &graph, "a dependency is a node of another graph");
    require(std::ranges::find(edges, node.get(), &Edge::from) == edges.end(),
            "a dependency is given twice");
    edges.push_back({.from = node.get()});
  }
  return edges;
}

}  // namespace sinter::virtual_gpu::driver
