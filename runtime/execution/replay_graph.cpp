#include "runtime/execution/replay_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <exception>

#include "ir/shape/extent.h"
#include "runtime/logging/counting.h"
#include "runtime/logging/trace.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// What `thrown` says; "" if nothing was.
std::string message_in(const std::exception_ptr& thrown) {
  if (!thrown) return {};
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  }
}

struct ArenaRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool overlaps(const ArenaRange& other) const { return begin < other.end && other.begin < end; }
  bool holds(const ArenaRange& other) const { return begin <= other.begin && other.end <= end; }
};

/// A temporary in the arena, and who has touched it.
struct Tenant {
  int buffer = 0;
  ArenaRange range;
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
    Footprint& touched = touched_.emplace_back();
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
    return ArenaRange{begin, begin + bytes_of(program_.buffers[place], symbols)};
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
      const ArenaRange range = range_of(written);
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

bool ReplayGraph::order(LaunchSet& launches) {
  std::vector<bool> empty;
  for (const PreparedLaunch& launch : launches.launches()) empty.push_back(launch.is_empty);
  if (!order_) order_ = std::make_unique<LaunchOrder>(launches.variant());
  std::vector<LaunchEdge> edges = order_->edges(launches.layout(), launches.symbols());
  const bool differs = empty != empty_ || edges != edges_;
  empty_ = std::move(empty);
  edges_ = std::move(edges);
  return differs;
}

void ReplayGraph::bring_up_to_date(LaunchSet& launches, HostWorks& works) {
  if (may_differ_ || !is_built_) {
    const bool differs = order(launches);
    if (differs || !is_built_) build(launches, works);
    may_differ_ = false;
  }
  for (const Part& part : parts_)
    for (std::size_t i = part.begin; i < part.end; ++i) {
      PreparedLaunch& launch = launches.launches()[i];
      if (!launch.changed) [[likely]]
        continue;
      if (launch.is_empty) {
        launch.changed = false;
        continue;
      }
      if (launch.call) {
        if (!patch_call(part, launches, i, works)) return build(launches, works);
      } else {
        const CUDA_KERNEL_NODE_PARAMS parameters = parameters_of(launch);
        check(device_.driver,
              device_.driver.cuGraphExecKernelNodeSetParams(part.exec, nodes_[i], &parameters),
              "cuGraphExecKernelNodeSetParams",
              [&] { return "kernel " + launches.variant().program.kernels[i].name; });
      }
      launch.changed = false;
      ++patched_nodes_;
      count(Count::patched_nodes);
    }
}

void ReplayGraph::build(LaunchSet& launches, HostWorks& works) {
  is_built_ = false;
  const TraceSpan span("launch", "build graph");
  const CaptureModeGuard relaxed(device_.driver);
  while (!try_build(launches, works)) {
  }
  for (Part& part : parts_) instantiate(part);
  is_built_ = true;
  ++builds_;
  count(Count::graph_builds);
}

CUgraph ReplayGraph::draw(LaunchSet& launches, HostWorks& works) {
  order(launches);
  do {
    for (const PreparedLaunch& launch : launches.launches())
      if (launch.call && !launch.is_empty && !launch.call->binding().may_be_captured())
        launch.call->binding().fail(fmt::format(
            "it cannot be part of the capture of a stream: {}; end the capture before the run and "
            "begin another one behind it",
            launch.call->binding().capture_refusal()));
    // A call may have turned out to be such a one on another thread meanwhile.
  } while (!try_build(launches, works) || parts_.size() > 1);
  return parts_.front().graph;
}

bool ReplayGraph::try_build(LaunchSet& launches, HostWorks& works) {
  release();
  const std::size_t size = launches.launches().size();
  nodes_.assign(size, nullptr);
  pieces_.resize(size);
  parts_.push_back({});
  for (std::size_t i = 0; i < size; ++i) {
    const OpaqueLaunch* const call = launches.launches()[i].call;
    parts_.back().end = i + 1;
    if (!call || launches.launches()[i].is_empty || call->binding().may_be_captured()) continue;
    parts_.back().end = i;
    parts_.push_back({.begin = i + 1, .end = i + 1});
  }
  for (Part& part : parts_)
    if (part.begin < part.end && !fill(part, launches, works)) return false;
  return true;
}

bool ReplayGraph::fill(Part& part, LaunchSet& launches, HostWorks& works) {
  const Driver& driver = device_.driver;
  llvm::SmallVector<std::size_t, 4> calls;  // so far
  const auto whole = [&] { return fmt::format("a graph of {} kernels", part.end - part.begin); };
  check(driver, driver.cuGraphCreate(&part.graph, /*flags=*/0), "cuGraphCreate", whole);
  auto edge =
      std::ranges::lower_bound(edges_, static_cast<int>(part.begin), {}, &LaunchEdge::after);
  for (std::size_t i = part.begin; i < part.end; ++i) {
    PreparedLaunch& launch = launches.launches()[i];
    std::vector<CUgraphNode> befores;
    // What comes before a call by itself is done when the call's work is.
    for (; edge != edges_.end() && edge->after == static_cast<int>(i); ++edge)
      if (edge->before >= static_cast<int>(part.begin))
        befores.push_back(nodes_[static_cast<std::size_t>(edge->before)]);
    const auto context = [&] { return "kernel " + launches.variant().program.kernels[i].name; };
    if (launch.is_empty) {
      check(driver,
            driver.cuGraphAddEmptyNode(&nodes_[i], part.graph, befores.data(), befores.size()),
            "cuGraphAddEmptyNode", context);
      continue;
    }
    if (launch.call) {
      const OpaqueBinding& binding = launch.call->binding();
      // Between two calls a function may keep things in memory of its own, as it may on a stream.
      for (const std::size_t call : calls) {
        const bool is_alike =
            &launches.launches()[call].call->binding().function() == &binding.function();
        if (is_alike && std::ranges::find(befores, nodes_[call]) == befores.end())
          befores.push_back(nodes_[call]);
      }
      calls.push_back(i);
      Recording recording{driver};
      if (!record(launches, i, works, recording)) return false;
      const CUresult added = driver.cuGraphAddChildGraphNode(&nodes_[i], part.graph, befores.data(),
                                                             befores.size(), recording.graph);
      // Memory that is allocated in the order of the stream is no part of a child graph.
      if (added == CUDA_ERROR_INVALID_VALUE || added == CUDA_ERROR_NOT_SUPPORTED) {
        binding.set_capture_refusal(fmt::format(
            "a graph does not take what it puts on the stream: {}", describe(driver, added)));
        return false;
      }
      check(driver, added, "cuGraphAddChildGraphNode", binding.called());
      launch.changed = false;
      continue;
    }
    const CUDA_KERNEL_NODE_PARAMS parameters = parameters_of(launch);
    check(driver,
          driver.cuGraphAddKernelNode(&nodes_[i], part.graph, befores.data(), befores.size(),
                                      &parameters),
          "cuGraphAddKernelNode", context);
    set_attributes(driver, nodes_[i], launch.config, context);
    launch.changed = false;
  }
  return true;
}

void ReplayGraph::instantiate(Part& part) {
  if (!part.graph) return;
  const Driver& driver = device_.driver;
  const CUresult result = device_.memory_pool->with_room(
      [&] { return driver.cuGraphInstantiateWithFlags(&part.exec, part.graph, /*flags=*/0); });
  check(driver, result, "cuGraphInstantiateWithFlags",
        [&] { return fmt::format("a graph of {} kernels", part.end - part.begin); });
}

ReplayGraph::Recording::~Recording() {
  if (graph) log_failed_release(driver, driver.cuGraphDestroy(graph), "cuGraphDestroy");
}

bool ReplayGraph::record(LaunchSet& launches, std::size_t number, HostWorks& works,
                         Recording& result) {
  const Driver& driver = device_.driver;
  const PreparedLaunch& launch = launches.launches()[number];
  const OpaqueBinding& binding = launch.call->binding();
  if (!recorder_)
    check(driver, driver.cuStreamCreate(&recorder_, CU_STREAM_NON_BLOCKING), "cuStreamCreate",
          "recording calls of the user's functions");
  // Relaxed, since libraries allocate what they need when they are first called.
  check(driver, driver.cuStreamBeginCapture(recorder_, CU_STREAM_CAPTURE_MODE_RELAXED),
        "cuStreamBeginCapture", binding.called());
  std::exception_ptr thrown;
  HostWorks::Pieces pieces;
  try {
    launch.call->enqueue(launch.parameters, device_, recorder_, works, pieces);
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
  check(driver, ended, "cuStreamEndCapture", binding.called());
  std::size_t nodes = 0;
  check(driver, driver.cuGraphGetNodes(result.graph, nullptr, &nodes), "cuGraphGetNodes",
        binding.called());
  if (nodes == 0) {
    binding.set_capture_refusal("it put nothing on the stream");
    return false;
  }
  std::vector<HostWorks::Pieces>& generations = pieces_[number];
  const auto has_run = [](const HostWorks::Pieces& one) {
    return !one.empty() && one.front()->runs.load(std::memory_order_acquire) > 0;
  };
  const auto latest = std::ranges::find_if(generations.rbegin(), generations.rend(), has_run);
  // Runs of a context follow one another: what was recorded before the one that ran is done.
  if (latest != generations.rend())
    generations.erase(generations.begin(), std::prev(latest.base()));
  if (!pieces.empty()) generations.push_back(std::move(pieces));
  return true;
}

bool ReplayGraph::patch_call(const Part& part, LaunchSet& launches, std::size_t number,
                             HostWorks& works) {
  const Driver& driver = device_.driver;
  const CaptureModeGuard relaxed(driver);  // the user's function may do what it likes
  Recording recording{driver};
  if (!record(launches, number, works, recording)) return false;
  const CUresult result =
      driver.cuGraphExecChildGraphNodeSetParams(part.exec, nodes_[number], recording.graph);
  // It may have put other work on the stream than before.
  if (result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE || result == CUDA_ERROR_INVALID_VALUE ||
      result == CUDA_ERROR_NOT_SUPPORTED)
    return false;
  check(driver, result, "cuGraphExecChildGraphNodeSetParams",
        launches.launches()[number].call->binding().called());
  return true;
}

void ReplayGraph::launch(LaunchSet& launches, CUstream stream, HostWorks& works) {
  for (const Part& part : parts_) {
    if (part.exec) [[likely]] {
      check(device_.driver, device_.driver.cuGraphLaunch(part.exec, stream), "cuGraphLaunch",
            [&] { return fmt::format("a graph of {} kernels", part.end - part.begin); });
      ++launched_;
      count(Count::graph_launches);
    }
    if (part.end < nodes_.size()) [[unlikely]]
      if (const PreparedLaunch& call = launches.launches()[part.end]; !call.is_empty)
        make_call(device_, call, works);
  }
}

void ReplayGraph::release() {
  if (parts_.empty()) return;
  const ReleaseContext current(device_);
  const Driver& driver = device_.driver;
  for (const Part& part : parts_) {
    if (part.exec)
      log_failed_release(driver, driver.cuGraphExecDestroy(part.exec), "cuGraphExecDestroy");
    if (part.graph) log_failed_release(driver, driver.cuGraphDestroy(part.graph), "cuGraphDestroy");
  }
  parts_.clear();
}

ReplayGraph::~ReplayGraph() {
  release();
  if (!recorder_) return;
  const ReleaseContext current(device_);
  log_failed_release(device_.driver, device_.driver.cuStreamDestroy(recorder_), "cuStreamDestroy");
}

}  // namespace sinter
