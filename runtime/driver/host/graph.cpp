#include "runtime/driver/host/graph.h"

#include <new>

namespace sinter::host {
namespace {

Failure run_node(const Work& work) {
  if (const auto* const kernel = std::get_if<KernelWork>(&work)) return run_kernel(kernel->launch);
  if (const auto* const copy = std::get_if<CUDA_MEMCPY3D>(&work)) return run_copy(*copy);
  if (const auto* const memset = std::get_if<CUDA_MEMSET_NODE_PARAMS>(&work))
    return run_memset(*memset);
  if (const auto* const host = std::get_if<HostWork>(&work)) {
    run_host_function(host->function, host->user_data);
    return {};
  }
  return {};
}

/// The nodes of a graph and of its child graphs as one graph, because they may run concurrently.
struct FlatGraph {
  Nodes nodes;
  Works works;

  std::size_t add(std::shared_ptr<const Work> work) {
    nodes.push_back({});
    works.push_back(std::move(work));
    return nodes.size() - 1;
  }
  void add_edge(std::size_t before, std::size_t after) {
    nodes[before].users.push_back(after);
    ++nodes[after].waits;
  }
};

/// The first and the last node of a child graph, or a single node twice.
struct NodeRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

std::vector<NodeRange> append(FlatGraph& flat, const Nodes& nodes, const Works& works) {
  static const auto nothing = std::make_shared<const Work>();
  std::vector<NodeRange> ranges;
  for (const auto& work : works) {
    const auto* const child = std::get_if<ChildWork>(work.get());
    if (!child) {
      const std::size_t node = flat.add(work);
      ranges.push_back({node, node});
      continue;
    }
    const NodeRange whole{flat.add(nothing), flat.add(nothing)};
    flat.add_edge(whole.first, whole.last);
    for (const NodeRange& inner : append(flat, child->graph->nodes, child->graph->works)) {
      flat.add_edge(whole.first, inner.first);
      flat.add_edge(inner.last, whole.last);
    }
    ranges.push_back(whole);
  }
  for (std::size_t node = 0; node < nodes.size(); ++node)
    for (const std::size_t user : nodes[node].users)
      flat.add_edge(ranges[node].last, ranges[user].first);
  return ranges;
}

/// Visits the nodes in topological order; `pick` chooses among those that are ready. Stops when
/// `visit` returns false. Returns the number of nodes before that.
std::size_t visit_in_order(const Nodes& nodes, auto pick, auto visit) {
  std::vector<std::size_t> waits, ready;
  waits.reserve(nodes.size());
  ready.reserve(nodes.size());  // no allocation from here on
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    waits.push_back(nodes[i].waits);
    if (nodes[i].waits == 0) ready.push_back(i);
  }
  std::size_t reached = 0;
  for (; !ready.empty(); ++reached) {
    std::swap(ready[pick(ready.size())], ready.back());
    const std::size_t node = ready.back();
    ready.pop_back();
    if (!visit(node)) break;
    for (const std::size_t user : nodes[node].users)
      if (--waits[user] == 0) ready.push_back(user);
  }
  return reached;
}

}  // namespace

Failure run_nodes(const Nodes& given, const Works& given_works) {
  FlatGraph flat;
  append(flat, given, given_works);
  const Nodes& nodes = flat.nodes;
  const Works& works = flat.works;
  Failure failure;
  bool has_begun = false;
  const auto pick = [](std::size_t count) { return scheduler().random() % count; };
  visit_in_order(nodes, pick, [&](std::size_t node) {
    try {
      failure = run_node(*works[node]);
    } catch (const std::bad_alloc&) {
      if (!has_begun) throw;  // nothing was done yet
      failure = {CUDA_ERROR_OUT_OF_MEMORY, "out of memory"};
    }
    has_begun = true;
    return failure.code == CUDA_SUCCESS;
  });
  return failure;
}

bool has_cycle(const Nodes& nodes) {
  const auto first = [](std::size_t) { return std::size_t{0}; };
  return visit_in_order(nodes, first, [](std::size_t) { return true; }) < nodes.size();
}

}  // namespace sinter::host
