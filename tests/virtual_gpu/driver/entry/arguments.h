// The arguments of entry points: handles, and pointers for results.
#pragma once

#include "tests/virtual_gpu/driver/graph.h"
#include "tests/virtual_gpu/driver/machine.h"

namespace sinter::virtual_gpu::driver {

/// The stream of a handle. Null and CU_STREAM_LEGACY mean the legacy stream of the current context,
/// CU_STREAM_PER_THREAD the stream of the calling thread.
std::shared_ptr<StreamObject> find_stream(const Call& call, CUstream handle);
/// The same. Refuses a stream whose context has failed.
std::shared_ptr<StreamObject> find_usable_stream(const Call& call, CUstream handle);

std::shared_ptr<EventObject> find_event(const Call& call, CUevent handle);
std::shared_ptr<GraphObject> find_graph(const Call& call, CUgraph handle);
std::shared_ptr<NodeObject> find_node(const Call& call, CUgraphNode handle);
std::shared_ptr<ExecObject> find_exec(const Call& call, CUgraphExec handle);

/// The nodes of `graph` that a new node depends on.
std::vector<Edge> find_dependencies(const Call& call, const GraphObject& graph,
                                    const CUgraphNode* dependencies, std::size_t count);

/// A handle in the type of the API.
template <class Handle>
Handle as(void* handle) {
  return static_cast<Handle>(handle);
}

}  // namespace sinter::virtual_gpu::driver
