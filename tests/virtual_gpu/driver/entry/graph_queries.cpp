// Entry points: the type and the attributes of a node of a CUDA Graph, and its child graph.
#include "tests/virtual_gpu/driver/entry/arguments.h"
#include "tests/virtual_gpu/driver/graph.h"

namespace sinter::virtual_gpu::driver {

namespace {

struct TypeOf {
  CUgraphNodeType operator()(const Empty&) const { return CU_GRAPH_NODE_TYPE_EMPTY; }
  CUgraphNodeType operator()(const KernelLaunch&) const { return CU_GRAPH_NODE_TYPE_KERNEL; }
  CUgraphNodeType operator()(const Copy&) const { return CU_GRAPH_NODE_TYPE_MEMCPY; }
  CUgraphNodeType operator()(const Fill&) const { return CU_GRAPH_NODE_TYPE_MEMSET; }
  CUgraphNodeType operator()(const HostCall&) const { return CU_GRAPH_NODE_TYPE_HOST; }
  CUgraphNodeType operator()(const PoolAllocation&) const { return CU_GRAPH_NODE_TYPE_MEM_ALLOC; }
  CUgraphNodeType operator()(const PoolRelease&) const { return CU_GRAPH_NODE_TYPE_MEM_FREE; }
};

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  return enter("cuGraphNodeGetType", Needs::possible_context, [&](Call& call) {
    const std::shared_ptr<NodeObject> found = find_node(call, node);
    require(type, "type is null");
    *type = found->child ? CU_GRAPH_NODE_TYPE_GRAPH : std::visit(TypeOf(), *found->operation);
  });
}

/// A node that was captured without the attribute reports clusters of {0, 0, 0}.
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUlaunchAttributeID attribute,
                                       CUlaunchAttributeValue* value) {
  return enter("cuGraphKernelNodeGetAttribute", Needs::possible_context, [&](Call& call) {
    const std::shared_ptr<NodeObject> found = find_node(call, node);
    const auto* const launch = std::get_if<KernelLaunch>(found->operation.get());
    require(launch && value, "the node is no kernel, or value is null");
    switch (attribute) {
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        value->cooperative = launch->is_cooperative ? 1 : 0;
        return;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        value->clusterDim = {};
        if (launch->has_cluster)
          value->clusterDim = {
              .x = launch->cluster.x, .y = launch->cluster.y, .z = launch->cluster.z};
        return;
      default: require(false, "the attribute is unknown, or its value is not kept");
    }
  });
}

/// "This call does not clone the graph. Changes to the graph will be reflected in the node, and the
/// node retains ownership of the graph."
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  return enter("cuGraphChildGraphNodeGetGraph", Needs::possible_context, [&](Call& call) {
    const std::shared_ptr<NodeObject> found = find_node(call, node);
    require(graph && found->child, "the node has no child graph, or graph is null");
    add_embedded_graph(call.machine, found->child);
    *graph = as<CUgraph>(found->child->handle);
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace sinter::virtual_gpu::driver
