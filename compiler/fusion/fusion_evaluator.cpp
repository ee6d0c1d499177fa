#include "compiler/fusion/fusion_evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "compiler/body/body_request.h"
#include "compiler/body/collapse_axes.h"
#include "compiler/body_building/store_mapping.h"
#include "compiler/candidates/candidates.h"
#include "compiler/candidates/row_column_candidates.h"
#include "compiler/cost/cost.h"
#include "compiler/program/print_program.h"
#include "compiler/target/gpu_constants.h"
#include "compiler/tiling/kernel_kind.h"
#include "compiler/tiling/row_residency.h"
#include "compiler/tiling/scatter_residency.h"
#include "ir/graph/operand_index.h"
#include "sinter/error.h"

namespace sinter {

namespace {

bool loads_node(const Body& body, const Node* node) {
  return std::ranges::any_of(body.values, [&](const Value& value) {
    return value.kind == Value::Kind::load && value.node == node;
  });
}

/// Encloses the position of a value in a text.
constexpr char kValueMark = '\1';

/// The number of arrays that a kernel of `body` accesses.
std::size_t arguments_of(const Body& body) {
  llvm::SmallVector<const Node*, 16> loaded;
  for (const Value& value : body.values)
    if (value.kind == Value::Kind::load && std::ranges::find(loaded, value.node) == loaded.end())
      loaded.push_back(value.node);
  // All segments of a result are in one array.
  int stored = 0;
  for (const BodyStore& store : body.stores) stored = std::max(stored, store.request + 1);
  return static_cast<std::size_t>(stored) + loaded.size();
}

Cost cost_of_built(Body body, const Target& target, const Facts& facts) {
  if (reduces_columns(body, facts)) return cost_of(collapse_axes(std::move(body)), target, facts);
  return cost_of(body, target, facts);
}

/// A result of `body` that is contiguous across adjacent rows, and may therefore be written element
/// by element; nullptr: none. Views count only in kernels that also reduce columns. In other
/// kernels adjacent rows run at about the same time, and the caches combine their stores into
/// sectors.
const Node* transposed_result(const Body& body) {
  if (!body.has_reduced_axis || body.scan || body.parallel_axes == 0) return nullptr;
  for (const BodyStore& store : body.stores)
    if (store.varies && (!is_view(*store.node) || !body.columns.empty()) &&
        store.conditions.empty() && has_unit_stride(store.at, body.parallel_axes - 1) &&
        !has_unit_stride(store.at, body.reduced_axis()))
      return store.node;
  return nullptr;
}

/// True if the default schedule of `body` writes whole sectors of `transposed`, or one block writes
/// each sector at about the same time. Needs: collapsed axes.
bool writes_transposed(const Body& body, const Node& transposed, const Target& target,
                       const Facts& facts) {
  const KernelKind kind = kind_of(body, target, facts);
  if (kind == KernelKind::column_reduce) return true;
  const Schedule best = candidates(kind, body, target, facts).front();
  if (kind == KernelKind::row_reduce) return best.tile > 0;
  return kind == KernelKind::row_column_reduce &&
         best.rows_per_block * size_of(transposed.dtype) >= kSectorBytes;
}

}  // namespace

std::string arguments_refusal(std::size_t arguments, std::size_t max) {
  if (arguments <= max) return {};
  return fmt::format("one kernel would access {} arrays, more than {}", arguments, max);
}

FusionEvaluator::FusionEvaluator(const GraphData& graph, const Groups& groups, const Target& target,
                                 const Facts& facts)
    : groups_(groups), target_(target), facts_(facts), keys_(graph) {
  for (const UpdateInfo& update : graph.updates) parameter_of_[update.value] = update.parameter;
}

const KernelKey& FusionEvaluator::key_of(const Groups::KernelNodes& kernel) {
  key_ = keys_.of(groups_.request(kernel));
  key_.push_back(allows_other_shapes_ ? 1 : 0);
  key_.push_back(static_cast<std::uint32_t>(max_arrays_));
  // The parameter that a result overwrites matters if this kernel reads it.
  if (!parameter_of_.empty())
    for (const StoreRequest& store : kernel.stores) {
      const Node* parameter = parameter_of_.lookup(store.node);
      key_.push_back(static_cast<std::uint32_t>(parameter ? keys_.position(parameter) : -1));
    }
  return key_;
}

const FusionEvaluator::Evaluation& FusionEvaluator::of(const Groups::KernelNodes& kernel) {
  const KernelKey& key = key_of(kernel);
  if (const Evaluation* known = known_.find(key)) return *known;
  return known_.add(key, evaluate_kernel(kernel));
}

Cost FusionEvaluator::cost(const Groups::KernelNodes& kernel) {
  const Evaluation& evaluation = of(kernel);
  if (evaluation.cost) return *evaluation.cost;
  BodyAnswer answer = groups_.body(kernel, [&](const Node* node) { return groups_.name(node); });
  ensure(static_cast<bool>(answer), "a group has no body: " + answer.reason);
  return cost_of_built(std::move(answer.body), target_, facts_);
}

FusionEvaluator::Evaluation FusionEvaluator::evaluate_kernel(
    const Groups::KernelNodes& kernel) const {
  BodyAnswer answer = groups_.body(kernel, [&](const Node* node) { return value_mark(node); });
  if (!answer) return {.has_body = false, .reason = answer.reason, .shapes_reason = {}, .cost = {}};
  const Body& body = answer.body;
  Evaluation result;
  result.shapes_reason = shapes_refusal(body);
  result.reason = arguments_refusal(arguments_of(body), max_arrays_);
  if (result.reason.empty()) result.reason = split_refusal(body);
  if (result.reason.empty()) result.reason = final_refusal(body);
  if (result.reason.empty()) result.reason = row_column_refusal(body, target_, facts_);
  if (result.reason.empty()) result.reason = scatter_refusal(body);
  if (!result.reason.empty()) return result;
  const Node* transposed = transposed_result(body);
  if (!transposed) {
    result.cost = cost_of_built(std::move(answer.body), target_, facts_);
    return result;
  }
  const Body collapsed = collapse_axes(std::move(answer.body));
  if (writes_transposed(collapsed, *transposed, target_, facts_))
    result.cost = cost_of(collapsed, target_, facts_);
  else
    result.reason = fmt::format(
        "{} is contiguous across rows, and no block computes enough rows to write whole sectors",
        value_mark(transposed));
  return result;
}

/// Refuses a scatter with consumers whose rows are not resident. Exception: the result can hold the
/// sums temporarily, and does not overwrite an array that the kernel reads.
std::string FusionEvaluator::scatter_refusal(const Body& body) const {
  if (!body.scatter || stores_only_scatter(body) || rows_kept(body, target_, facts_) > 0) return {};
  const Node* parameter = parameter_of_.lookup(body.stores[0].node);
  const bool is_read = parameter && loads_node(body, parameter);
  if (sums_in_results(body, target_, facts_) && !is_read) return {};
  return fmt::format(
      "keeping rows of {} in shared memory needs so many blocks that reading the indices in each "
      "of them takes more than half the time of moving the rows",
      value_mark(body.scatter->node));
}

std::string FusionEvaluator::split_refusal(const Body& body) const {
  // The cost model covers column kernels, so their predicted cost decides.
  if (body.passes() == 1 || reduces_columns(body, facts_)) return {};
  if (!should_split_rows(body, target_, facts_)) return {};
  const std::int64_t rows = evaluate(body.parallel_size(), facts_.symbols);
  const std::int64_t extent = evaluate(body.reduced_size(), facts_.symbols);
  return fmt::format(
      "{} of {} elements must be split over all {} SMs, so the result is available only "
      "after the kernel ends",
      counted(rows, "row"), extent, target_.sm_count);
}

/// Refuses reductions of all row values in the last block, if the rows are too many or the kernel
/// is no row kernel.
std::string FusionEvaluator::final_refusal(const Body& body) const {
  constexpr std::int64_t kMaxRows = 65536;
  if (body.finals.empty()) return {};
  const std::int64_t rows = evaluate(body.parallel_size(), facts_.symbols);
  if (rows == 0) return "there are no rows, so no last block can finish";
  if (rows > kMaxRows)
    return fmt::format("one block would reduce the values of {} rows, more than {}", rows,
                       kMaxRows);
  if (kind_of(body, target_, facts_) != KernelKind::row_reduce)
    return "the values of the rows are spread over the threads of many blocks";
  return {};
}

std::string FusionEvaluator::shapes_refusal(const Body& body) const {
  for (const BodyStore& store : body.stores) {
    if (store.conditions.empty()) continue;
    if (!allows_other_shapes_) {
      has_deferred_shapes_ = true;
      return "a result with another shape is merged later";
    }
    if (allows_other_shapes_first_ && store.varies && !follows_loads(body, store.at))
      return fmt::format("{} is contiguous across the rows of this kernel", value_mark(store.node));
    if (const Node* parameter = parameter_of_.lookup(store.node);
        parameter && loads_node(body, parameter))
      return fmt::format(
          "{} is written in place, but the kernel of a larger result may "
          "still read its old contents",
          value_mark(parameter));
  }
  return {};
}

std::string FusionEvaluator::value_mark(const Node* node) const {
  const int position = keys_.position(node);
  ensure(position >= 0, "a message names a value that its kernel does not have");
  return fmt::format("{}{}{}", kValueMark, position, kValueMark);
}

std::string FusionEvaluator::with_names(const std::string& reason) const {
  std::string result;
  for (std::size_t at = 0;;) {
    const std::size_t begin = reason.find(kValueMark, at);
    result += reason.substr(at, begin - at);
    if (begin == reason.npos) return result;
    const std::size_t end = reason.find(kValueMark, begin + 1);
    int position = 0;
    std::from_chars(reason.data() + begin + 1, reason.data() + end, position);
    result += groups_.name(keys_.node_at(position));
    at = end + 1;
  }
}

}  // namespace sinter
