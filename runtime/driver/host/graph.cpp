#include "runtime/driver/host/graph.h"

#include <new>

namespace sinter::host {
namespace {

Failure run_node(const Work& work) {
  if (const auto* const kernel = std::get_if<KernelWork>(&work)) return run_kernel(kernel->launch);
  if (const auto* const copy = std::get_if<CopyWork>(&work)) return run_copy(*copy);
  if (const auto* const fill = std::get_if<FillWork>(&work)) return run_fill(*fill);
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

}  // namespace

Failure run_nodes(const Nodes& given, const Works& given_works) {
  FlatGraph flat;
  append(flat, given, given_works);
  std::vector<std::size_t> waits, ready;
  waits.reserve(flat.nodes.size());
  ready.reserve(flat.nodes.size());  // the loops below allocate nothing
  for (const Node& node : flat.nodes) {
    if (node.waits == 0) ready.push_back(waits.size());
    waits.push_back(node.waits);
  }
  Failure failure;
  for (bool has_begun = false; !ready.empty() && failure.code == CUDA_SUCCESS; has_begun = true) {
    std::swap(ready[scheduler().random() % ready.size()], ready.back());
    const std::size_t node = ready.back();
    ready.pop_back();
    try {
      failure = run_node(*flat.works[node]);
    } catch (const std::bad_alloc&) {
      if (!has_begun) throw;  // nothing was done yet
      failure = {CUDA_ERROR_OUT_OF_MEMORY, "out of memory"};
    }
    for (const std::size_t user : flat.nodes[node].users)
      if (--waits[user] == 0) ready.push_back(user);
  }
  return failure;
}

}  // namespace sinter::host
