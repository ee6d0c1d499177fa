// Entry points: CUDA Graphs and their nodes.
#include "tests/virtual_gpu/driver/graph.h"

#include <algorithm>

#include "tests/virtual_gpu/driver/capture.h"
#include "tests/virtual_gpu/driver/entry/arguments.h"
#include "tests/virtual_gpu/driver/launch.h"

namespace sinter::virtual_gpu::driver {

/// CUDA_KERNEL_NODE_PARAMS before CUDA 12.0, which ends before `kern`.
struct OldKernelNodeParameters {
  CUfunction func;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** parameters;
  void** extra;
};

namespace {

CUDA_KERNEL_NODE_PARAMS widened(const OldKernelNodeParameters& old) {
  return {.func = old.func,
          .gridDimX = old.grid[0],
          .gridDimY = old.grid[1],
          .gridDimZ = old.grid[2],
          .blockDimX = old.block[0],
          .blockDimY = old.block[1],
          .blockDimZ = old.block[2],
          .sharedMemBytes = old.shared_bytes,
          .kernelParams = old.parameters,
          .extra = old.extra,
          .kern = nullptr,
          .ctx = nullptr};
}

std::shared_ptr<FunctionObject> node_function(const Call& call,
                                              const CUDA_KERNEL_NODE_PARAMS& parameters) {
  require(!parameters.kern, "kernels of libraries are not modelled");
  const auto function =
      call.machine.handles.find<FunctionObject>(parameters.func, CUDA_ERROR_INVALID_VALUE);
  return function;
}

struct NodePlace {
  CUgraphNode* node;
  CUgraph graph;
  const CUgraphNode* dependencies;
  std::size_t count;
};

/// Adds a node at the place; `make` gives its work.
void add(Call& call, const NodePlace& place, const auto& make) {
  require(place.node, "node is null");
  const std::shared_ptr<GraphObject> graph = find_graph(call, place.graph);
  std::vector<Edge> edges = find_dependencies(call, *graph, place.dependencies, place.count);
  auto [operation, child] = make(*graph);
  const NodeObject& node =
      add_node(call.machine, *graph, std::move(edges), std::move(operation), std::move(child));
  *place.node = as<CUgraphNode>(node.handle);
}

struct NodeWork {
  std::shared_ptr<const Operation> operation;
  std::shared_ptr<GraphObject> child = nullptr;
};

CUresult add_kernel(const NodePlace& place, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return enter("cuGraphAddKernelNode", Needs::context, [&](Call& call) {
    require(parameters, "parameters is null");
    add(call, place, [&](const GraphObject&) {
      return NodeWork{make_operation(checked_launch(node_function(call, *parameters), *parameters,
                                                    /*attributes=*/nullptr))};
    });
  });
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  return enter("cuGraphCreate", Needs::possible_context, [&](Call& call) {
    require(graph && flags == 0, "an argument is null or not 0");
    const auto made = std::make_shared<GraphObject>();
    call.machine.handles.add(made);
    *graph = as<CUgraph>(made->handle);
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return enter("cuGraphDestroy", Needs::possible_context, [&](Call& call) {
    const std::shared_ptr<GraphObject> found = find_graph(call, graph);
    require(!found->is_captured_into, "the graph belongs to a capture that has not ended");
    require(!found->is_embedded, "the graph belongs to a child graph node");
    forget_graph(call.machine, *found);
  });
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 std::size_t count, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return add_kernel({node, graph, dependencies, count}, parameters);
}

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              std::size_t count, const OldKernelNodeParameters* parameters) {
  if (!parameters) return add_kernel({node, graph, dependencies, count}, nullptr);
  const CUDA_KERNEL_NODE_PARAMS all = widened(*parameters);
  return add_kernel({node, graph, dependencies, count}, &all);
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUlaunchAttributeID attribute,
                                       const CUlaunchAttributeValue* value) {
  return enter("cuGraphKernelNodeSetAttribute", Needs::context, [&](Call& call) {
    const std::shared_ptr<NodeObject> found = find_node(call, node);
    const auto* const launch = std::get_if<KernelLaunch>(found->operation.get());
    require(launch && value, "the node is no kernel, or value is null");
    require(attribute != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            "edges decide when a node starts");
    KernelLaunch changed = *launch;
    set_attribute(changed, attribute, *value);
    check_combination(changed);
    check_fits(changed);
    found->operation = make_operation(std::move(changed));
  });
}

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                             std::size_t count) {
  return enter("cuGraphAddEmptyNode", Needs::possible_context, [&](Call& call) {
    add(call, {node, graph, dependencies, count},
        [](const GraphObject&) { return NodeWork{make_operation(Empty{})}; });
  });
}

/// CUDA_HOST_NODE_PARAMS has these fields.
struct HostNodeParameters {
  CUhostFn function;
  void* data;
};

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                            std::size_t count, const HostNodeParameters* parameters) {
  return enter("cuGraphAddHostNode", Needs::possible_context, [&](Call& call) {
    require(parameters && parameters->function, "the function is null");
    add(call, {node, graph, dependencies, count},
        [&](const GraphObject&) {
          return NodeWork{make_operation(
              HostCall{.function = parameters->function, .data = parameters->data})};
        });
  });
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                  std::size_t count, CUgraph child) {
  return enter("cuGraphAddChildGraphNode", Needs::possible_context, [&](Call& call) {
    const std::shared_ptr<GraphObject> embedded = find_graph(call, child);
    require(!embedded->is_captured_into, "the child graph is being captured");
    if (has_pool_work(*embedded))
      throw Refusal(CUDA_ERROR_NOT_SUPPORTED, "the child graph allocates or frees memory");
    add(call, {node, graph, dependencies, count}, [&](const GraphObject& parent) {
      require(&parent != embedded.get(), "a graph cannot be its own child");
      return NodeWork{make_operation(Empty{}), copy_graph(*embedded)};
    });
  });
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  return enter("cuGraphGetNodes", Needs::possible_context, [&](Call& call) {
    const std::shared_ptr<GraphObject> found = find_graph(call, graph);
    require(count, "count is null");
    if (nodes)
      for (std::size_t i = 0; i < *count; ++i)
        nodes[i] = i < found->nodes.size() ? as<CUgraphNode>(found->nodes[i]->handle) : nullptr;
    *count = nodes ? std::min(*count, found->nodes.size()) : found->nodes.size();
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace sinter::virtual_gpu::driver
