#include "runtime/driver/host/graph.h"

#include "runtime/driver/host/execution/prior_launches.h"

#include <new>

namespace sinter::host {
namespace {

/// `starts_early`: a programmatic edge leads to the node, so the kernel must wait itself. `prior`:
/// the launches that it waits for, if they have not run.
Failure run_node(const Work& work, bool starts_early, PriorLaunches* prior = nullptr) {
  if (const auto* const kernel = std::get_if<KernelWork>(&work)) {
    if (!starts_early) return run_kernel(kernel->launch);
    KernelLaunch launch = kernel->launch;
    launch.may_start_early = true;
    return run_kernel(launch, prior);
  }
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
  std::vector<std::vector<std::size_t>> early;  // by node: those that it waits for itself

  std::size_t add(std::shared_ptr<const Work> work) {
    nodes.push_back({});
    works.push_back(std::move(work));
    early.emplace_back();
    return nodes.size() - 1;
  }
  void add_edge(std::size_t before, std::size_t after, bool is_programmatic = false) {
    nodes[before].users.push_back({.to = after, .is_programmatic = is_programmatic});
    ++nodes[after].waits;
    if (is_programmatic) early[after].push_back(before);
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
    for (const Edge& edge : nodes[node].users)
      flat.add_edge(ranges[node].last, ranges[edge.to].first, edge.is_programmatic);
  return ranges;
}

/// One launch of a graph.
class Run {
 public:
  explicit Run(FlatGraph flat) : flat_(std::move(flat)) {
    // The loops below allocate nothing, unless a kernel starts early.
    waits_.reserve(flat_.nodes.size());
    ready_.reserve(flat_.nodes.size());
    for (const Node& node : flat_.nodes) {
      if (node.waits == 0) ready_.push_back(waits_.size());
      waits_.push_back(node.waits);
    }
  }

  Failure run() {
    Failure failure;
    for (bool has_begun = false; !ready_.empty() && failure.code == CUDA_SUCCESS;
         has_begun = true) {
      const std::size_t node = take_ready();
      try {
        const std::vector<std::size_t> users = early_users(node);
        if (users.empty() || (scheduler().random() & 1) != 0) {
          failure = run_node(*flat_.works[node], !flat_.early[node].empty());
          finish(node);
        } else {
          failure = run_early(users[scheduler().random() % users.size()], node);
        }
      } catch (const std::bad_alloc&) {
        if (!has_begun) throw;  // nothing was done yet
        failure = {CUDA_ERROR_OUT_OF_MEMORY, "out of memory"};
      }
    }
    return failure;
  }

 private:
  std::size_t take_ready() {
    std::swap(ready_[scheduler().random() % ready_.size()], ready_.back());
    const std::size_t node = ready_.back();
    ready_.pop_back();
    return node;
  }

  void finish(std::size_t node) {
    for (const Edge& edge : flat_.nodes[node].users)
      if (--waits_[edge.to] == 0) ready_.push_back(edge.to);
  }

  /// The nodes that may start before the ready node `node`, because they wait for it themselves,
  /// and for nothing else that has not run.
  std::vector<std::size_t> early_users(std::size_t node) const {
    std::vector<std::size_t> users;
    for (const Edge& edge : flat_.nodes[node].users) {
      if (!edge.is_programmatic || waits_[edge.to] != 1) continue;
      if (std::get<KernelWork>(*flat_.works[edge.to]).launch.kernel->counts)
        users.push_back(edge.to);
    }
    return users;
  }

  /// Starts the kernel `node`. `before` runs when the kernel waits for it.
  Failure run_early(std::size_t node, std::size_t before) {
    PriorLaunches prior(
        [&] { return run_node(*flat_.works[before], !flat_.early[before].empty()); });
    Failure failure = run_node(*flat_.works[node], /*starts_early=*/true, &prior);
    if (prior.failure().code != CUDA_SUCCESS) return prior.failure();
    finish(before);  // makes `node` ready
    std::erase(ready_, node);
    finish(node);
    return failure;
  }

  const FlatGraph flat_;
  std::vector<std::size_t> waits_;  // by node: the nodes that it waits for and that have not run
  std::vector<std::size_t> ready_;
};

}  // namespace

Failure run_nodes(const Nodes& nodes, const Works& works) {
  FlatGraph flat;
  append(flat, nodes, works);
  return Run(std::move(flat)).run();
}

}  // namespace sinter::host
