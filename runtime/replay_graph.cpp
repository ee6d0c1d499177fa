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
};

/// The temporaries that a kernel reads or writes, and those that it writes.
struct Touched {
  std::vector<int> all;
  std::vector<int> written;
};

Touched temporaries_of(const Variant& variant, std::size_t kernel) {
  Touched touched;
  const std::vector<Buffer>& buffers = variant.program.buffers;
  const auto is_temporary = [&](int buffer) {
    return buffers[static_cast<std::size_t>(buffer)].kind == Buffer::Kind::temporary;
  };
  for (const int buffer : buffers_of(variant.kernels[kernel].source))
    if (is_temporary(buffer)) touched.all.push_back(buffer);
  for (const Store& store : variant.program.kernels[kernel].stores)
    if (is_temporary(store.buffer)) touched.written.push_back(store.buffer);
  return touched;
}

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

std::vector<LaunchEdge> edges_of(const Variant& variant, const ScratchLayout& layout,
                                 std::span<const std::int64_t> symbols) {
  const auto range_of = [&](int buffer) {
    const Buffer& info = variant.program.buffers[static_cast<std::size_t>(buffer)];
    const std::int64_t begin = layout.buffer_offsets[static_cast<std::size_t>(buffer)];
    return Range{begin, begin + bytes_of(info, symbols)};
  };
  std::vector<LaunchEdge> edges;
  std::vector<Touched> touched;
  for (std::size_t after = 0; after < variant.kernels.size(); ++after) {
    touched.push_back(temporaries_of(variant, after));
    std::vector<int> befores = variant.program.kernels[after].depends_on;
    // What is written into reused memory must wait for all who use what lay there.
    for (std::size_t before = 0; before < after; ++before)
      for (const int written : touched[after].written)
        for (const int used : touched[before].all)
          if (used != written && range_of(used).overlaps(range_of(written)))
            befores.push_back(static_cast<int>(before));
    std::ranges::sort(befores);
    befores.erase(std::unique(befores.begin(), befores.end()), befores.end());
    for (const int before : befores)
      edges.push_back({.before = before, .after = static_cast<int>(after)});
  }
  return edges;
}

void ReplayGraph::bring_up_to_date(LaunchSet& launches) {
  if (may_differ_) {
    std::vector<bool> empty;
    for (const PreparedLaunch& launch : launches.launches()) empty.push_back(launch.is_empty);
    std::vector<LaunchEdge> edges =
        edges_of(launches.variant(), launches.layout(), launches.symbols());
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
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    PreparedLaunch& launch = launches.launches()[i];
    std::vector<CUgraphNode> befores;
    for (const LaunchEdge& edge : edges_)
      if (edge.after == static_cast<int>(i))
        befores.push_back(nodes_[static_cast<std::size_t>(edge.before)]);
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
