#include "runtime/replay_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>

#include "ir/extent.h"
#include "runtime/counting.h"
#include "runtime/trace.h"

namespace sinter {

namespace {

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
  bool holds(const Range& other) const { return begin <= other.begin && other.end <= end; }
};

/// A temporary in the arena, and who has touched it.
struct Tenant {
  int buffer = 0;
  Range range;
  llvm::SmallVector<int, 4> users;
};

CUDA_KERNEL_NODE_PARAMS parameters_of(const PreparedLaunch& launch) {
  const CUlaunchConfig& config = launch.config;
  return {.func = launch.function,
          .gridDimX = config.gridDimX,
          .gridDimY = config.gridDimY,
          .gridDimZ = config.gridDimZ,
          .blockDimX = config.blockDimX,
          .blockDimY = config.blockDimY,
          .blockDimZ = config.blockDimZ,
          .sharedMemBytes = config.sharedMemBytes,
          .kernelParams = launch.parameters,
          .extra = nullptr,
          .kern = nullptr,
          .ctx = nullptr};
}

/// The attributes of a node are those of its launch, for good; but when it starts is up to its
/// edges.
void set_attributes(const Driver& driver, CUgraphNode node, const CUlaunchConfig& config,
                    std::invocable auto context) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) continue;
    check(driver,
          driver.cuGraphKernelNodeSetAttribute(node, config.attrs[i].id, &config.attrs[i].value),
          "cuGraphKernelNodeSetAttribute", context);
  }
}

}  // namespace

LaunchOrder::LaunchOrder(const Variant& variant) : program_(variant.program) {
  const auto is_temporary = [&](int buffer) {
    return program_.buffers[static_cast<std::size_t>(buffer)].kind == Buffer::Kind::temporary;
  };
  for (std::size_t kernel = 0; kernel < variant.kernels.size(); ++kernel) {
    Touched& touched = touched_.emplace_back();
    for (const int buffer : buffers_of(variant.kernels[kernel].source))
      if (is_temporary(buffer)) touched.all.push_back(buffer);
    for (const Store& store : program_.kernels[kernel].stores)
      if (is_temporary(store.buffer)) touched.written.push_back(store.buffer);
  }
}

std::vector<LaunchEdge> LaunchOrder::edges(const ScratchLayout& layout,
                                           std::span<const std::int64_t> symbols) const {
  const auto range_of = [&](int buffer) {
    const auto place = static_cast<std::size_t>(buffer);
    const std::int64_t begin = layout.buffer_offsets[place];
    return Range{begin, begin + bytes_of(program_.buffers[place], symbols)};
  };
  std::vector<LaunchEdge> edges;
  std::vector<std::size_t> first_edge;  // of each kernel
  const auto waits_for = [&](int kernel, int before) {
    const auto place = static_cast<std::size_t>(kernel);
    const auto own =
        std::span(edges).subspan(first_edge[place], first_edge[place + 1] - first_edge[place]);
    return std::ranges::find(own, before, &LaunchEdge::before) != own.end();
  };
  std::vector<Tenant> tenants;  // whoever writes there has to wait for them
  for (std::size_t after = 0; after < touched_.size(); ++after) {
    const auto kernel = static_cast<int>(after);
    first_edge.push_back(edges.size());
    std::vector<int> befores = program_.kernels[after].depends_on;
    for (const int written : touched_[after].written) {
      const Range range = range_of(written);
      std::erase_if(tenants, [&](const Tenant& tenant) {
        if (tenant.buffer == written || !tenant.range.overlaps(range)) return false;
        befores.insert(befores.end(), tenant.users.begin(), tenant.users.end());
        return range.holds(tenant.range);  // who writes there next waits for this kernel
      });
    }
    std::ranges::sort(befores);
    befores.erase(std::unique(befores.begin(), befores.end()), befores.end());
    // What another one waits for is waited for with it.
    for (std::size_t i = 0; i < befores.size(); ++i) {
      const auto is_between = [&](int other) { return waits_for(other, befores[i]); };
      if (std::none_of(befores.begin() + static_cast<std::ptrdiff_t>(i) + 1, befores.end(),
                       is_between))
        edges.push_back({.before = befores[i], .after = kernel});
    }
    for (const int used : touched_[after].all) {
      auto tenant = std::ranges::find(tenants, used, &Tenant::buffer);
      if (tenant == tenants.end())
        tenant = tenants.insert(tenant, {.buffer = used, .range = range_of(used), .users = {}});
      if (tenant->users.empty() || tenant->users.back() != kernel) tenant->users.push_back(kernel);
    }
  }
  return edges;
}

void ReplayGraph::bring_up_to_date(LaunchSet& launches) {
  if (may_differ_) {
    std::vector<bool> empty;
    for (const PreparedLaunch& launch : launches.launches()) empty.push_back(launch.is_empty);
    if (!order_) order_ = std::make_unique<LaunchOrder>(launches.variant());
    std::vector<LaunchEdge> edges = order_->edges(launches.layout(), launches.symbols());
    const bool must_build = !exec_ || empty != empty_ || edges != edges_;
    empty_ = std::move(empty);
    edges_ = std::move(edges);
    if (must_build) build(launches);
    may_differ_ = false;
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    PreparedLaunch& launch = launches.launches()[i];
    if (!launch.changed) [[likely]]
      continue;
    if (launch.is_empty) {
      launch.changed = false;
      continue;
    }
    const CUDA_KERNEL_NODE_PARAMS parameters = parameters_of(launch);
    check(device_.driver,
          device_.driver.cuGraphExecKernelNodeSetParams(exec_, nodes_[i], &parameters),
          "cuGraphExecKernelNodeSetParams",
          [&] { return "kernel " + launches.variant().program.kernels[i].name; });
    launch.changed = false;
    ++patched_nodes_;
    count(Count::patched_nodes);
  }
}

void ReplayGraph::build(LaunchSet& launches) {
  const TraceSpan span("launch", "build graph");
  const Driver& driver = device_.driver;
  release();
  check(driver, driver.cuGraphCreate(&graph_, /*flags=*/0), "cuGraphCreate",
        [&] { return fmt::format("a graph of {} kernels", launches.launches().size()); });
  nodes_.assign(launches.launches().size(), nullptr);
  auto edge = edges_.begin();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    PreparedLaunch& launch = launches.launches()[i];
    std::vector<CUgraphNode> befores;
    for (; edge != edges_.end() && edge->after == static_cast<int>(i); ++edge)
      befores.push_back(nodes_[static_cast<std::size_t>(edge->before)]);
    const auto context = [&] { return "kernel " + launches.variant().program.kernels[i].name; };
    if (launch.is_empty) {
      check(driver, driver.cuGraphAddEmptyNode(&nodes_[i], graph_, befores.data(), befores.size()),
            "cuGraphAddEmptyNode", context);
      continue;
    }
    const CUDA_KERNEL_NODE_PARAMS parameters = parameters_of(launch);
    check(driver,
          driver.cuGraphAddKernelNode(&nodes_[i], graph_, befores.data(), befores.size(),
                                      &parameters),
          "cuGraphAddKernelNode", context);
    set_attributes(driver, nodes_[i], launch.config, context);
    launch.changed = false;
  }
  check(driver, driver.cuGraphInstantiateWithFlags(&exec_, graph_, /*flags=*/0),
        "cuGraphInstantiateWithFlags",
        [&] { return fmt::format("a graph of {} kernels", nodes_.size()); });
  ++builds_;
  count(Count::graph_builds);
}

void ReplayGraph::launch(CUstream stream) {
  check(device_.driver, device_.driver.cuGraphLaunch(exec_, stream), "cuGraphLaunch",
        [&] { return fmt::format("a graph of {} kernels", nodes_.size()); });
  ++launched_;
  count(Count::graph_launches);
}

void ReplayGraph::release() {
  if (!graph_) return;
  const ReleaseContext current(device_);
  if (exec_)
    log_failed_release(device_.driver, device_.driver.cuGraphExecDestroy(exec_),
                       "cuGraphExecDestroy");
  log_failed_release(device_.driver, device_.driver.cuGraphDestroy(graph_), "cuGraphDestroy");
  graph_ = nullptr;
  exec_ = nullptr;
}

}  // namespace sinter
