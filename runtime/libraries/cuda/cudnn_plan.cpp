#include "runtime/libraries/cuda/cudnn_plan.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/libraries/algorithms/problem_text.h"
#include "runtime/libraries/cuda/on_device.h"
#include "sinter/error.h"

namespace sinter {

namespace {

using namespace cudnn;

constexpr std::int64_t kIdOfX = 'x', kIdOfW = 'w', kIdOfY = 'y';

cudnnDataType_t data_type_of_array(DType dtype) {
  switch (dtype) {
    case f64: return CUDNN_DATA_DOUBLE;
    case f16: return CUDNN_DATA_HALF;
    case bf16: return CUDNN_DATA_BFLOAT16;
    default: return CUDNN_DATA_FLOAT;
  }
}

/// The names of one kind of operation in cuDNN.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t conv, x, w, y, alpha, beta;
};

OperationNames operation_names(ConvKind kind) {
  switch (kind) {
    case ConvKind::data_gradient:
      return {.type = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              .conv = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              .x = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              .w = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              .y = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvKind::weight_gradient:
      return {.type = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              .conv = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              .x = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              .w = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              .y = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    case ConvKind::forward: break;
  }
  return {.type = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
          .conv = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
          .x = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
          .w = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
          .y = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
          .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
          .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
}

/// The last two or three values: cuDNN has no convolutions with one spatial axis.
std::vector<std::int64_t> spatial_of(const ConvProblem& problem, const ConvProblem::Sizes& sizes) {
  return {sizes.end() - std::max(problem.axes, 2), sizes.end()};
}

/// A row-major array [first, second, spatial...].
CudnnDescriptor tensor_of(const Cudnn& library, const CudnnQuery& query, std::int64_t id,
                          std::int64_t first, std::int64_t second,
                          const ConvProblem::Sizes& spatial) {
  std::vector<std::int64_t> extents = {first, second};
  for (const std::int64_t extent : spatial_of(query.problem, spatial)) extents.push_back(extent);
  std::vector<std::int64_t> strides(extents.size(), 1);
  for (std::size_t i = extents.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * extents[i + 1];
  CudnnDescriptor tensor(library, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, data_type_of_array(query.problem.dtype));
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, extents);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{query.alignment});
  tensor.finalize();
  return tensor;
}

CudnnDescriptor convolution_of(const Cudnn& library, const ConvProblem& problem) {
  const auto lengths = [&](const ConvProblem::Sizes& sizes) { return spatial_of(problem, sizes); };
  CudnnDescriptor conv(library, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  constexpr cudnnConvolutionMode_t kMode = CUDNN_CROSS_CORRELATION;
  conv.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{std::max(problem.axes, 2)});
  conv.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE,
           problem.dtype == f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
  conv.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &kMode);
  conv.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, lengths(problem.padding_begin));
  conv.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, lengths(problem.padding_end));
  conv.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, lengths(problem.dilations));
  conv.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, lengths(problem.strides));
  conv.finalize();
  return conv;
}

std::string conv_sizes_text(const ConvProblem& problem) {
  const auto text = [&](const ConvProblem::Sizes& sizes) {
    return fmt::format(
        "{}", fmt::join(std::span(sizes).last(static_cast<std::size_t>(problem.axes)), ", "));
  };
  return fmt::format(
      "x {0}[{1}, {2}, {3}], w {0}[{4}, {5}, {6}], strides [{7}], dilations [{8}], "
      "padding [{9}] and [{10}]",
      name(problem.dtype), problem.images, problem.channels, text(problem.size), problem.filters,
      problem.channels_per_group(), text(problem.filter_size), text(problem.strides),
      text(problem.dilations), text(problem.padding_begin), text(problem.padding_end));
}

/// Advice that leads to a convolution with an engine.
std::string advice(const CudnnQuery& query) {
  if (query.problem.padding_begin != query.problem.padding_end)
    return "padding_begin and padding_end differ: pad x with the op pad instead";
  if (query.alignment < 16)
    return fmt::format("the address of an array is only a multiple of {}: use multiples of 16",
                       query.alignment);
  return "use another dtype or other extents";
}

}  // namespace

const char* conv_text(ConvKind kind) {
  if (kind == ConvKind::data_gradient) return "the data gradient of conv";
  return kind == ConvKind::forward ? "conv" : "the weight gradient of conv";
}

CudnnDescriptor CudnnPlan::operation_graph(const CudnnQuery& query) const {
  const ConvProblem& problem = query.problem;
  const OperationNames names = operation_names(problem.kind);
  const CudnnDescriptor x =
      tensor_of(library_, query, kIdOfX, problem.images, problem.channels, problem.size);
  const CudnnDescriptor w = tensor_of(library_, query, kIdOfW, problem.filters,
                                      problem.channels_per_group(), problem.filter_size);
  const CudnnDescriptor y =
      tensor_of(library_, query, kIdOfY, problem.images, problem.filters, problem.result_size);
  const CudnnDescriptor conv = convolution_of(library_, problem);
  CudnnDescriptor operation(library_, names.type);
  operation.set(names.conv, conv);
  operation.set(names.x, x);
  operation.set(names.w, w);
  operation.set(names.y, y);
  const float one = 1, zero = 0;
  const double double_one = 1, double_zero = 0;
  const bool is_double = problem.dtype == f64;
  const auto type = is_double ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT;
  const auto number = [&](const double& wide, const float& narrow) {
    return is_double ? static_cast<const void*>(&wide) : &narrow;
  };
  operation.set(names.alpha, type, 1, number(double_one, one));
  operation.set(names.beta, type, 1, number(double_zero, zero));
  operation.finalize();
  CudnnDescriptor graph(library_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, device_.handle);
  graph.finalize();
  return graph;
}

/// True for engines whose results repeat and have the precision of the contract.
bool CudnnPlan::may_use(const CudnnDescriptor& config, const ConvProblem& problem) const {
  const CudnnDescriptor engine(library_, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.handle();
  std::int64_t count = 0;
  library_.check(
      library_.table.cudnnBackendGetAttribute(config.handle(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                              CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &handle),
      "cudnnBackendGetAttribute");
  cudnnBackendNumericalNote_t notes[10] = {};  // as many kinds as cuDNN 9 has
  library_.check(library_.table.cudnnBackendGetAttribute(
                     engine.handle(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                     std::size(notes), &count, notes),
                 "cudnnBackendGetAttribute");
  const auto is_allowed = [&](cudnnBackendNumericalNote_t note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      case CUDNN_NUMERICAL_NOTE_FFT:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13: return false;
      // For f32, the tensor cores round operands to tf32.
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE: return problem.dtype != f32 || problem.allow_tf32;
    }
    return true;
  };
  const auto written = static_cast<std::size_t>(
      std::clamp<std::int64_t>(count, 0, static_cast<std::int64_t>(std::size(notes))));
  return std::all_of(notes, notes + written, is_allowed);
}

std::int64_t CudnnPlan::workspace_of(const CudnnDescriptor& plan) const {
  std::int64_t bytes = 0, count = 0;
  library_.check(library_.table.cudnnBackendGetAttribute(plan.handle(),
                                                         CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                                         CUDNN_TYPE_INT64, 1, &count, &bytes),
                 "cudnnBackendGetAttribute");
  return bytes;
}

namespace {

/// True for refusals that the next process gets again: wrong parameters and missing support. Others
/// are failures, for example of memory.
bool is_permanent(cudnnStatus_t status) {
  constexpr int kFamily = 1000;
  const int family = static_cast<int>(status) / kFamily;
  return family == 2 || family == 3;
}

}  // namespace

/// Makes a plan of the configuration. False if the engine does not support it after all.
bool CudnnPlan::take(const CudnnDescriptor& config, std::int64_t most_workspace) {
  CudnnDescriptor plan(library_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, device_.handle);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  if (const cudnnStatus_t status = plan.try_finalize(); status != CUDNN_STATUS_SUCCESS) {
    may_store_ &= is_permanent(status);
    return false;
  }
  const std::int64_t bytes = workspace_of(plan);
  if (bytes > most_workspace) return false;
  plan_ = std::move(plan);
  workspace_bytes_ = bytes;
  return true;
}

/// Takes the first configuration of a heuristic that has a plan.
bool CudnnPlan::take_first(const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode,
                           const CudnnQuery& query) {
  CudnnDescriptor heuristic(library_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (heuristic.try_finalize() != CUDNN_STATUS_SUCCESS) return false;
  std::int64_t count = 0;
  library_.check(
      library_.table.cudnnBackendGetAttribute(heuristic.handle(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                              CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
      "cudnnBackendGetAttribute");
  std::vector<CudnnDescriptor> configs;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::int64_t i = 0; i < count; ++i)
    handles.push_back(configs.emplace_back(library_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).handle());
  std::int64_t written = 0;
  if (count > 0)
    library_.check(library_.table.cudnnBackendGetAttribute(
                       heuristic.handle(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                       CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &written, handles.data()),
                   "cudnnBackendGetAttribute");
  configs.erase(configs.begin() + std::clamp<std::int64_t>(written, 0, count), configs.end());
  return std::ranges::any_of(configs, [&](const CudnnDescriptor& config) {
    return may_use(config, query.problem) && take(config, query.most_workspace);
  });
}

namespace {

/// A plan as JSON, in cuDNN's own form; empty if cuDNN cannot write this one.
std::vector<std::byte> json_of(const Cudnn& library, const CudnnDescriptor& plan) {
  const auto get = [&](std::int64_t wanted, std::int64_t& count, void* bytes) {
    return library.table.cudnnBackendGetAttribute(plan.handle(),
                                                  CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                                  CUDNN_TYPE_CHAR, wanted, &count, bytes);
  };
  std::int64_t count = 0;
  if (get(0, count, nullptr) != CUDNN_STATUS_SUCCESS || count <= 0) return {};
  std::vector<std::byte> json(static_cast<std::size_t>(count));
  if (get(count, count, json.data()) != CUDNN_STATUS_SUCCESS) return {};
  json.resize(static_cast<std::size_t>(
      std::clamp<std::int64_t>(count, 0, static_cast<std::int64_t>(json.size()))));
  return json;
}

AlgorithmKey plan_key(const Cudnn& library, const CudnnQuery& query) {
  return {
      .library = fmt::format("cuDNN {} for CUDA {}, {}", library.table.cudnnGetVersion(),
                             library.table.cudnnGetCudartVersion(), selection_text()),
      .device = device_text(query.device),
      .problem = fmt::format("{} aligned to {} bytes, workspace of {} bytes",
                             problem_text(query.problem), query.alignment, query.most_workspace)};
}

}  // namespace

/// Takes a stored plan. Returns why it cannot be used.
std::string CudnnPlan::take_stored(const CudnnQuery& query, const StoredAlgorithm& stored) {
  CudnnDescriptor plan(library_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, device_.handle);
  cudnnStatus_t status = library_.table.cudnnBackendSetAttribute(
      plan.handle(), CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
      static_cast<std::int64_t>(stored.data.size()), stored.data.data());
  if (status == CUDNN_STATUS_SUCCESS) status = plan.try_finalize();
  if (status != CUDNN_STATUS_SUCCESS) return library_.describe(status);
  const std::int64_t bytes = workspace_of(plan);
  if (bytes > query.most_workspace)
    return fmt::format("it needs a workspace of {} bytes, more than {}", bytes,
                       query.most_workspace);
  plan_ = std::move(plan);
  workspace_bytes_ = bytes;
  return {};
}

std::optional<RefusedAlgorithm> CudnnPlan::prepare(const CudnnQuery& query,
                                                   AlgorithmStore* algorithms) {
  return take_or_choose(algorithms, plan_key(library_, query),
                        {.take = [&](const auto& stored) { return take_stored(query, stored); },
                         .choose = [&] { return ask_heuristics(query); }});
}

std::optional<StoredAlgorithm> CudnnPlan::ask_heuristics(const CudnnQuery& query) {
  const ConvProblem& problem = query.problem;
  const CudnnDescriptor graph = operation_graph(query);
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
    if (take_first(graph, mode, query)) {
      std::vector<std::byte> json = json_of(library_, plan_);
      if (json.empty() || !may_store_) return std::nullopt;
      return StoredAlgorithm{.workspace_bytes = workspace_bytes_, .data = std::move(json)};
    }
  throw UserError(fmt::format("cuDNN {} has no engine for {} of {}; {}", library_.version_text(),
                              conv_text(problem.kind), conv_sizes_text(problem), advice(query)));
}

void CudnnPlan::enqueue(void* x, void* w, void* y, void* workspace, cuda::CUstream stream) const {
  CudnnDescriptor pack(library_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  void* const pointers[] = {x, w, y};
  constexpr std::int64_t kIds[] = {kIdOfX, kIdOfW, kIdOfY};
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, std::size(pointers),
           pointers);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, kIds);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize();
  const std::lock_guard lock(device_.mutex);
  library_.check(library_.table.cudnnSetStream(device_.handle, stream), "cudnnSetStream");
  library_.check(library_.table.cudnnBackendExecute(device_.handle, plan_.handle(), pack.handle()),
                 "cudnnBackendExecute");
}

namespace {

/// The handle of each device, and all plans. Never destroyed: other threads may use them while the
/// process ends.
struct CudnnPlans {
  struct Entry {
    std::shared_ptr<const CudnnPlan> plan;
    bool is_captured = false;
  };
  std::mutex mutex;
  std::map<int, CudnnDevice> devices;
  std::map<CudnnQuery, Entry> plans;
};

/// A program with ever new sizes must not fill the memory.
constexpr std::size_t kMostCudnnPlans = 1024;

/// A plan, and a stored algorithm that was refused when it was made.
struct FoundCudnnPlan {
  std::shared_ptr<const CudnnPlan> plan;
  std::optional<RefusedAlgorithm> refused = {};
};

FoundCudnnPlan find_or_make_cudnn_plan(const Cudnn& library, const CudnnQuery& query,
                                       AlgorithmStore* algorithms, bool is_captured) {
  static auto& all = *new CudnnPlans;
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.plans.find(query); found != all.plans.end()) {
    found->second.is_captured |= is_captured;
    return {found->second.plan};
  }
  CudnnDevice& device = all.devices[query.device];
  const std::lock_guard device_lock(device.mutex);
  if (!device.handle) library.check(library.table.cudnnCreate(&device.handle), "cudnnCreate");
  const auto plan = std::make_shared<CudnnPlan>(library, device);
  std::optional<RefusedAlgorithm> refused = plan->prepare(query, algorithms);
  // Not during a capture, where kernels must not be unloaded.
  if (!is_captured && all.plans.size() >= kMostCudnnPlans)
    std::erase_if(all.plans, [](const auto& one) { return !one.second.is_captured; });
  all.plans[query] = {.plan = plan, .is_captured = is_captured};
  return {.plan = plan, .refused = std::move(refused)};
}

}  // namespace

std::shared_ptr<const CudnnPlan> cudnn_plan(const CudnnQuery& query, AlgorithmStore* algorithms,
                                            bool is_captured) {
  const CudnnOrReason& opened = find_cudnn();
  if (!opened.library)
    throw UserError(fmt::format("{} on cuda:{} needs {}", conv_text(query.problem.kind),
                                query.device, opened.reason));
  const FoundCudnnPlan found =
      find_or_make_cudnn_plan(*opened.library, query, algorithms, is_captured);
  log_refusal(algorithms, found.refused);  // without locks: the user's log may run programs
  return found.plan;
}

}  // namespace sinter
