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

/// Nodes of a graph with those of its children among them: as on a GPU, they run side by side.
struct FlatGraph {
  Nodes nodes;
  Works works;

  std::size_t add(std::shared_ptr<const Work> work) {
    nodes.push_back({});
    works.push_back(std::move(work));
    return nodes.size() - 1;
  }
  void join(std::size_t before, std::size_t after) {
    nodes[before].users.push_back(after);
    ++nodes[after].waits;
  }
};

/// Where a node, or all of a child graph, begins and ends.
struct Place {
  std::size_t first = 0;
  std::size_t last = 0;
};

std::vector<Place> append(FlatGraph& flat, const Nodes& nodes, const Works& works) {
  static const auto nothing = std::make_shared<const Work>();
  std::vector<Place> places;
  for (const auto& work : works) {
    const auto* const child = std::get_if<ChildWork>(work.get());
    if (!child) {
      const std::size_t node = flat.add(work);
      places.push_back({node, node});
      continue;
    }
    const Place whole{flat.add(nothing), flat.add(nothing)};
    flat.join(whole.first, whole.last);
    for (const Place& inner : append(flat, child->graph->nodes, child->graph->works)) {
      flat.join(whole.first, inner.first);
      flat.join(inner.last, whole.last);
    }
    places.push_back(whole);
  }
  for (std::size_t node = 0; node < nodes.size(); ++node)
    for (const std::size_t user : nodes[node].users)
      flat.join(places[node].last, places[user].first);
  return places;
}

/// Walks over the nodes, each after all that it waits for; `pick` chooses among those that are
/// ready. Returns how many were reached before `visit` said no.
std::size_t walk(const Nodes& nodes, auto pick, auto visit) {
  std::vector<std::size_t> waits, ready;
  waits.reserve(nodes.size());
  ready.reserve(nodes.size());  // from here on no more is taken
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
  const auto pick = [](std::size_t count) { return schedule().random() % count; };
  walk(nodes, pick, [&](std::size_t node) {
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
  return walk(nodes, first, [](std::size_t) { return true; }) < nodes.size();
}

}  // namespace sinter::host
