#include "runtime/execution/replay_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <exception>

#include "runtime/execution/recorded_graphs.h"
#include "runtime/logging/counting.h"
#include "runtime/logging/trace.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// The message of `thrown`; "" if it is null.
std::string message_in(const std::exception_ptr& thrown) {
  if (!thrown) return {};
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Copies the launch attributes to the node, except programmatic stream serialization: the edges
/// decide when a node starts.
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

bool ReplayGraph::update_edges() {
  std::vector<bool> empty;
  for (const PreparedLaunch& launch : launches_.launches()) empty.push_back(launch.is_empty);
  if (!launch_order_) launch_order_ = std::make_unique<LaunchOrder>(launches_.variant());
  std::vector<LaunchEdge> edges = launch_order_->edges(launches_.layout(), launches_.symbols());
  const bool differs = empty != empty_ || edges != edges_;
  empty_ = std::move(empty);
  edges_ = std::move(edges);
  return differs;
}

void ReplayGraph::update() {
  if (may_differ_ || !is_built_) {
    const bool differs = update_edges();
    if (differs || !is_built_) build();
    may_differ_ = false;
  }
  for (const Segment& segment : segments_)
    for (std::size_t i = segment.begin; i < segment.end; ++i) {
      PreparedLaunch& launch = launches_.launches()[i];
      if (!launch.changed) [[likely]]
        continue;
      if (launch.is_empty) {
        launch.changed = false;
        continue;
      }
      if (launch.call) {
        if (!patch_call(segment, i)) return build();
      } else {
        const CUDA_KERNEL_NODE_PARAMS parameters =
            node_parameters(launch.config, launch.function, launch.parameters);
        check(device_.driver,
              device_.driver.cuGraphExecKernelNodeSetParams(segment.exec, nodes_[i], &parameters),
              "cuGraphExecKernelNodeSetParams",
              [&] { return "kernel " + launches_.variant().program.kernels[i].name; });
      }
      launch.changed = false;
      ++patched_nodes_;
      count(Count::patched_nodes);
    }
}

void ReplayGraph::build() {
  is_built_ = false;
  const TraceSpan span("launch", "build graph");
  const CaptureModeGuard relaxed(device_.driver);
  const auto is_instantiated = [&](Segment& segment) { return instantiate(segment); };
  while (!try_build() || !std::ranges::all_of(segments_, is_instantiated)) {
  }
  is_built_ = true;
  ++builds_;
  count(Count::graph_builds);
}

CUgraph ReplayGraph::build_child_graph() {
  update_edges();
  do {
    for (const PreparedLaunch& launch : launches_.launches())
      if (launch.call && !launch.is_empty && !launch.call->binding().may_be_captured())
        launch.call->binding().fail(
            fmt::format("it cannot be part of a stream capture: {}; end the capture before the "
                        "run and begin "
                        "another one after it",
                        launch.call->binding().capture_refusal()));
    // Another thread may meanwhile have found out that a call cannot be captured.
  } while (!try_build() || segments_.size() > 1);
  return segments_.front().graph;
}

bool ReplayGraph::try_build() {
  release();
  const std::size_t size = launches_.launches().size();
  nodes_.assign(size, nullptr);
  recordings_.resize(size);
  segments_.push_back({});
  for (std::size_t i = 0; i < size; ++i) {
    const OpaqueLaunch* const call = launches_.launches()[i].call;
    segments_.back().end = i + 1;
    if (!call || launches_.launches()[i].is_empty || call->binding().may_be_captured()) continue;
    segments_.back().end = i;
    segments_.push_back({.begin = i + 1, .end = i + 1});
  }
  for (Segment& segment : segments_)
    if (segment.begin < segment.end && !add_nodes(segment)) return false;
  return true;
}

bool ReplayGraph::add_nodes(Segment& segment) {
  const Driver& driver = device_.driver;
  llvm::SmallVector<std::size_t, 4> calls;  // so far
  std::vector<LaunchEdge> early_edges;
  const auto whole = [&] {
    return fmt::format("a graph of {} kernels", segment.end - segment.begin);
  };
  check(driver, driver.cuGraphCreate(&segment.graph, /*flags=*/0), "cuGraphCreate", whole);
  auto edge =
      std::ranges::lower_bound(edges_, static_cast<int>(segment.begin), {}, &LaunchEdge::after);
  for (std::size_t i = segment.begin; i < segment.end; ++i) {
    PreparedLaunch& launch = launches_.launches()[i];
    std::vector<CUgraphNode> predecessors;
    for (; edge != edges_.end() && edge->after == static_cast<int>(i); ++edge) {
      // Predecessors in earlier segments have completed when this segment starts.
      if (edge->before < static_cast<int>(segment.begin)) continue;
      if (is_early(*edge))
        early_edges.push_back(*edge);
      else
        predecessors.push_back(nodes_[static_cast<std::size_t>(edge->before)]);
    }
    const auto context = [&] { return "kernel " + launches_.variant().program.kernels[i].name; };
    if (launch.is_empty) {
      check(driver,
            driver.cuGraphAddEmptyNode(&nodes_[i], segment.graph, predecessors.data(),
                                       predecessors.size()),
            "cuGraphAddEmptyNode", context);
      continue;
    }
    if (launch.call) {
      const OpaqueBinding& binding = launch.call->binding();
      // A function may keep state between its calls, as on a stream, so they run in order. The
      // edges order collectives.
      for (const std::size_t call : calls) {
        const bool has_same_function =
            &launches_.launches()[call].call->binding().function() == &binding.function();
        if (has_same_function && !binding.is_collective() &&
            std::ranges::find(predecessors, nodes_[call]) == predecessors.end())
          predecessors.push_back(nodes_[call]);
      }
      calls.push_back(i);
      Recording recording{driver};
      if (!record(i, recording)) return false;
      const CUresult added = driver.cuGraphAddChildGraphNode(
          &nodes_[i], segment.graph, predecessors.data(), predecessors.size(), recording.graph);
      // A child graph cannot contain stream-ordered allocations.
      if (added == CUDA_ERROR_INVALID_VALUE || added == CUDA_ERROR_NOT_SUPPORTED) {
        binding.set_capture_refusal(
            fmt::format("a graph does not accept the work that it puts on the stream: {}",
                        describe(driver, added)));
        return false;
      }
      check(driver, added, "cuGraphAddChildGraphNode", binding.display_name());
      launch.changed = false;
      continue;
    }
    const CUDA_KERNEL_NODE_PARAMS parameters =
        node_parameters(launch.config, launch.function, launch.parameters);
    check(driver,
          driver.cuGraphAddKernelNode(&nodes_[i], segment.graph, predecessors.data(),
                                      predecessors.size(), &parameters),
          "cuGraphAddKernelNode", context);
    set_attributes(driver, nodes_[i], launch.config, context);
    launch.changed = false;
  }
  return early_edges.empty() || add_early_edges(segment, early_edges);
}

// Only edges between kernels may be programmatic. Order stays transitive, because every thread of
// `after` waits before it does anything else. So `after` ends later than `before`. A successor that
// waits for `after` alone also finds the memory that `before` wrote.
bool ReplayGraph::is_early(const LaunchEdge& edge) const {
  const auto after = static_cast<std::size_t>(edge.after);
  const std::span<PreparedLaunch> launches = launches_.launches();
  return has_early_edges_ && launches_.variant().kernels[after].starts_early &&
         launches[after].is_kernel && launches[static_cast<std::size_t>(edge.before)].is_kernel;
}

bool ReplayGraph::add_early_edges(const Segment& segment, std::span<const LaunchEdge> edges) {
  std::vector<CUgraphNode> from, to;
  for (const LaunchEdge& edge : edges) {
    from.push_back(nodes_[static_cast<std::size_t>(edge.before)]);
    to.push_back(nodes_[static_cast<std::size_t>(edge.after)]);
  }
  const CUresult result = sinter::add_early_edges(device_.driver, segment.graph, from, to);
  has_early_edges_ = result != CUDA_ERROR_NOT_SUPPORTED;
  if (has_early_edges_)
    check(device_.driver, result, "cuGraphAddDependencies",
          [&] { return fmt::format("a graph of {} kernels", segment.end - segment.begin); });
  return has_early_edges_;
}

bool ReplayGraph::instantiate(Segment& segment) {
  if (!segment.graph) return true;
  const Driver& driver = device_.driver;
  const CUresult result = device_.memory_pool->retry_after_trim([&] {
    return driver.cuGraphInstantiateWithFlags(&segment.exec, segment.graph, /*flags=*/0);
  });
  if (result == CUDA_ERROR_NOT_SUPPORTED && has_early_edges_) {
    has_early_edges_ = false;
    return false;
  }
  check(driver, result, "cuGraphInstantiateWithFlags",
        [&] { return fmt::format("a graph of {} kernels", segment.end - segment.begin); });
  return true;
}

ReplayGraph::Recording::~Recording() {
  if (graph) log_failed_release(driver, driver.cuGraphDestroy(graph), "cuGraphDestroy");
}

bool ReplayGraph::record(std::size_t number, Recording& result) {
  const Driver& driver = device_.driver;
  const PreparedLaunch& launch = launches_.launches()[number];
  const OpaqueBinding& binding = launch.call->binding();
  if (!recorder_)
    check(driver, driver.cuStreamCreate(&recorder_, CU_STREAM_NON_BLOCKING), "cuStreamCreate",
          "recording calls of the user's functions");
  // Relaxed mode, since libraries allocate memory at their first call.
  check(driver, driver.cuStreamBeginCapture(recorder_, CU_STREAM_CAPTURE_MODE_RELAXED),
        "cuStreamBeginCapture", binding.display_name());
  std::exception_ptr thrown;
  HostFunctions::List recorded;
  try {
    launch.call->enqueue(launch.parameters, device_, recorder_, host_functions_, recorded);
  } catch (const std::exception&) {
    thrown = std::current_exception();
  }
  const CUresult ended = driver.cuStreamEndCapture(recorder_, &result.graph);
  const std::string failure = message_in(thrown);
  if (is_of_captures(ended)) {
    binding.set_capture_refusal(fmt::format("capturing it failed: {}{}{}", describe(driver, ended),
                                            failure.empty() ? "" : "; ", failure));
    return false;
  }
  if (thrown) throw UserError(failure);
  check(driver, ended, "cuStreamEndCapture", binding.display_name());
  std::size_t nodes = 0;
  check(driver, driver.cuGraphGetNodes(result.graph, nullptr, &nodes), "cuGraphGetNodes",
        binding.display_name());
  if (nodes == 0) {
    binding.set_capture_refusal("it put nothing on the stream");
    return false;
  }
  std::vector<HostFunctions::List>& generations = recordings_[number];
  const auto has_run = [](const HostFunctions::List& one) {
    return !one.empty() && one.front()->runs.load(std::memory_order_acquire) > 0;
  };
  const auto latest = std::ranges::find_if(generations.rbegin(), generations.rend(), has_run);
  // Runs of a context are ordered: recordings before the latest one that ran have finished.
  if (latest != generations.rend())
    generations.erase(generations.begin(), std::prev(latest.base()));
  if (!recorded.empty()) generations.push_back(std::move(recorded));
  return true;
}

bool ReplayGraph::patch_call(const Segment& segment, std::size_t number) {
  const Driver& driver = device_.driver;
  const CaptureModeGuard relaxed(driver);  // the user's function may allocate
  Recording recording{driver};
  if (!record(number, recording)) return false;
  const std::string& call = launches_.launches()[number].call->binding().display_name();
  CUgraph built = nullptr;
  check(driver, driver.cuGraphChildGraphNodeGetGraph(nodes_[number], &built),
        "cuGraphChildGraphNodeGetGraph", call);
  if (!can_be_updated(driver, built, recording.graph, call)) return false;
  const CUresult result =
      driver.cuGraphExecChildGraphNodeSetParams(segment.exec, nodes_[number], recording.graph);
  // The function may have put different work on the stream, so that the node cannot be updated.
  if (result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE || result == CUDA_ERROR_INVALID_VALUE ||
      result == CUDA_ERROR_NOT_SUPPORTED)
    return false;
  check(driver, result, "cuGraphExecChildGraphNodeSetParams", call);
  return true;
}

void ReplayGraph::launch(CUstream stream) {
  for (const Segment& segment : segments_) {
    if (segment.exec) [[likely]] {
      // The first launch of a graph allocates its memory on the device.
      const CUresult result = device_.memory_pool->retry_after_trim(
          [&] { return device_.driver.cuGraphLaunch(segment.exec, stream); });
      check(device_.driver, result, "cuGraphLaunch",
            [&] { return fmt::format("a graph of {} kernels", segment.end - segment.begin); });
      ++launched_;
      count(Count::graph_launches);
    }
    if (segment.end < nodes_.size()) [[unlikely]]
      if (const PreparedLaunch& call = launches_.launches()[segment.end]; !call.is_empty)
        make_call(device_, call, host_functions_);
  }
}

void ReplayGraph::release() {
  if (segments_.empty()) return;
  const CurrentContextNoThrow current(device_);
  const Driver& driver = device_.driver;
  for (const Segment& segment : segments_) {
    if (segment.exec)
      log_failed_release(driver, driver.cuGraphExecDestroy(segment.exec), "cuGraphExecDestroy");
    if (segment.graph)
      log_failed_release(driver, driver.cuGraphDestroy(segment.graph), "cuGraphDestroy");
  }
  segments_.clear();
}

ReplayGraph::~ReplayGraph() {
  release();
  if (!recorder_) return;
  const CurrentContextNoThrow current(device_);
  log_failed_release(device_.driver, device_.driver.cuStreamDestroy(recorder_), "cuStreamDestroy");
}

}  // namespace sinter
