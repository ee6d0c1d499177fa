#include "runtime/execution/recorded_graphs.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <unordered_map>
#include <vector>

namespace sinter {

namespace {

/// Attributes that results may depend on, and that an update does not change. The driver refuses an
/// update that makes a node cooperative or ends that. Driver 580 accepts another cluster size, but
/// keeps the old one (bench/results/h200/2026-11-27). Priorities and access policies are hints.
constexpr CUlaunchAttributeID kFixedAttributes[] = {
    CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
    CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION};

/// The answer to a query of an attribute.
struct AttributeAnswer {
  bool is_known = false;  ///< false: the driver refuses the query
  bool is_cooperative = false;
  unsigned cluster[3] = {};
  friend bool operator==(const AttributeAnswer&, const AttributeAnswer&) = default;
};

/// An edge between nodes that are given by their places in the list of nodes.
struct RecordedEdge {
  std::size_t from = 0;
  std::size_t to = 0;
  unsigned char from_port = 0;
  unsigned char to_port = 0;
  unsigned char type = 0;
  friend auto operator<=>(const RecordedEdge&, const RecordedEdge&) = default;
};

class Comparison {
 public:
  Comparison(const Driver& driver, std::string_view context) : driver_(driver), context_(context) {}

  // The driver pairs nodes by the order in which they were added. The order of cuGraphGetNodes is
  // not documented. This relies on the same order for two graphs to which the same nodes and edges
  // were added in the same order. The edges are compared by the places of their nodes in the lists.
  // In a chain of nodes, as one stream records it, only the driver's pairs then compare equal.
  bool are_alike(CUgraph first, CUgraph second) const {
    const std::vector<CUgraphNode> a = nodes(first);
    const std::vector<CUgraphNode> b = nodes(second);
    const auto is_alike = [&](CUgraphNode x, CUgraphNode y) { return is_like(x, y); };
    return a.size() == b.size() && edges(first, a) == edges(second, b) &&
           std::ranges::equal(a, b, is_alike);
  }

 private:
  bool is_like(CUgraphNode a, CUgraphNode b) const {
    const CUgraphNodeType type_of_a = type(a);
    if (type_of_a != type(b)) return false;
    switch (type_of_a) {
      case CU_GRAPH_NODE_TYPE_KERNEL:
        return std::ranges::all_of(kFixedAttributes, [&](CUlaunchAttributeID id) {
          // If the driver knows an attribute for neither node, no launch can have set it.
          return attribute(a, id) == attribute(b, id);
        });
      case CU_GRAPH_NODE_TYPE_GRAPH: return are_alike(child(a), child(b));
      case CU_GRAPH_NODE_TYPE_MEMCPY:
      case CU_GRAPH_NODE_TYPE_MEMSET:
      case CU_GRAPH_NODE_TYPE_HOST:
      case CU_GRAPH_NODE_TYPE_EMPTY:
      case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
      case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return true;
      // Memory nodes cannot be in a child graph. Conditional nodes contain graphs that are not
      // compared here, and a newer driver may have further types.
      default: return false;
    }
  }

  std::vector<CUgraphNode> nodes(CUgraph graph) const {
    std::size_t count = 0;
    check(driver_, driver_.cuGraphGetNodes(graph, nullptr, &count), "cuGraphGetNodes", context_);
    std::vector<CUgraphNode> list(count);
    if (count == 0) return list;
    check(driver_, driver_.cuGraphGetNodes(graph, list.data(), &count), "cuGraphGetNodes",
          context_);
    return list;
  }

  /// The edges in order. Drivers before CUDA 12.3 do not report their data, nor have
  /// programmatic edges; the update compares the others.
  std::vector<RecordedEdge> edges(CUgraph graph, const std::vector<CUgraphNode>& nodes) const {
    if (!driver_.cuGraphGetEdges) return {};
    std::size_t count = 0;
    check(driver_, driver_.cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &count),
          "cuGraphGetEdges", context_);
    if (count == 0) return {};
    std::vector<CUgraphNode> from(count), to(count);
    std::vector<CUgraphEdgeData> data(count);
    check(driver_, driver_.cuGraphGetEdges(graph, from.data(), to.data(), data.data(), &count),
          "cuGraphGetEdges", context_);
    std::unordered_map<CUgraphNode, std::size_t> places;
    for (const CUgraphNode node : nodes) places.emplace(node, places.size());
    std::vector<RecordedEdge> list;
    for (std::size_t i = 0; i < count; ++i)
      list.push_back({.from = places[from[i]],
                      .to = places[to[i]],
                      .from_port = data[i].from_port,
                      .to_port = data[i].to_port,
                      .type = data[i].type});
    std::ranges::sort(list);
    return list;
  }

  CUgraphNodeType type(CUgraphNode node) const {
    CUgraphNodeType type{};
    check(driver_, driver_.cuGraphNodeGetType(node, &type), "cuGraphNodeGetType", context_);
    return type;
  }

  CUgraph child(CUgraphNode node) const {
    CUgraph graph = nullptr;
    check(driver_, driver_.cuGraphChildGraphNodeGetGraph(node, &graph),
          "cuGraphChildGraphNodeGetGraph", context_);
    return graph;
  }

  AttributeAnswer attribute(CUgraphNode node, CUlaunchAttributeID id) const {
    CUlaunchAttributeValue value{};
    const CUresult result = driver_.cuGraphKernelNodeGetAttribute(node, id, &value);
    if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_SUPPORTED) return {};
    check(driver_, result, "cuGraphKernelNodeGetAttribute", context_);
    if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
      return {.is_known = true, .is_cooperative = value.cooperative != 0};
    return {.is_known = true,
            .cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z}};
  }

  const Driver& driver_;
  const std::string_view context_;
};

}  // namespace

bool can_be_updated(const Driver& driver, CUgraph built, CUgraph recorded,
                    std::string_view context) {
  return Comparison(driver, context).are_alike(built, recorded);
}

}  // namespace sinter
