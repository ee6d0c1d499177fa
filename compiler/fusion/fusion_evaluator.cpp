#include "compiler/fusion/fusion_evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "compiler/body/body_request.h"
#include "compiler/body/collapse_axes.h"
#include "compiler/body_building/store_mapping.h"
#include "compiler/candidates/candidates.h"
#include "compiler/candidates/row_column_schedule.h"
#include "compiler/cost/cost.h"
#include "compiler/tiling/coalescing.h"
#include "compiler/tiling/kernel_kind.h"
#include "compiler/tiling/row_residency.h"
#include "compiler/tiling/scatter_residency.h"
#include "ir/graph/operand_index.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// Stands before and behind the place of a value in a text.
constexpr char kPlaceMark = '\1';

/// Arrays that a kernel of `body` takes.
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

/// What `body` makes of its rows, lies along neighbouring ones, and may be written element by
/// element. Views lie like that in any case: where rows follow one another at once, caches make
/// sectors of what they write.
const Node* transposed_result(const Body& body) {
  if (!body.has_reduced_axis || body.scan || body.parallel_axes == 0) return nullptr;
  const auto moves_by_one = [](const BodyStore& store, int axis) {
    const std::optional<Extent> step = coefficient_of(store.at, axis);
    return step && step->is(1);
  };
  for (const BodyStore& store : body.stores)
    if (store.varies && (!is_view(*store.node) || !body.columns.empty()) &&
        store.conditions.empty() && moves_by_one(store, body.parallel_axes - 1) &&
        !moves_by_one(store, body.reduced_axis()))
      return store.node;
  return nullptr;
}

/// True if the best kernel of `body`, with its axes collapsed, writes whole sectors of `turned`, or
/// a block all of a sector at about the same time.
bool writes_transposed(const Body& body, const Node& turned, const Target& target,
                       const Facts& facts) {
  const KernelKind kind = kind_of(body, target, facts);
  if (kind == KernelKind::column_reduce) return true;
  const Schedule best = candidates(kind, body, target, facts).front();
  if (kind == KernelKind::row_reduce) return best.tile > 0;
  return kind == KernelKind::row_column_reduce &&
         best.rows_per_block * size_of(turned.dtype) >= kSectorBytes;
}

}  // namespace

std::string arguments_refusal(std::size_t arguments, std::size_t most) {
  if (arguments <= most) return {};
  return fmt::format("together they touch {} arrays, more than {}", arguments, most);
}

FusionEvaluator::FusionEvaluator(const GraphData& graph, const Groups& groups, const Target& target,
                                 const Facts& facts)
    : groups_(groups), target_(target), facts_(facts), keys_(graph) {
  for (const UpdateInfo& update : graph.updates) parameter_of_[update.value] = update.parameter;
}

const KernelKey& FusionEvaluator::key_of(const Groups::Whole& whole) {
  key_ = keys_.of(groups_.request(whole));
  key_.push_back(allows_other_shapes_ ? 1 : 0);
  key_.push_back(static_cast<std::uint32_t>(most_arrays_));
  // What a result is written over counts where this kernel reads it.
  if (!parameter_of_.empty())
    for (const StoreRequest& store : whole.stores) {
      const Node* parameter = parameter_of_.lookup(store.node);
      key_.push_back(static_cast<std::uint32_t>(parameter ? keys_.place(parameter) : -1));
    }
  return key_;
}

const FusionEvaluator::Evaluation& FusionEvaluator::of(const Groups::Whole& whole) {
  const KernelKey& key = key_of(whole);
  if (const Evaluation* known = known_.find(key)) return *known;
  return known_.add(key, evaluate_kernel(whole));
}

Cost FusionEvaluator::cost(const Groups::Whole& whole) {
  const Evaluation& finding = of(whole);
  if (finding.cost) return *finding.cost;
  BodyAnswer answer = groups_.body(whole, [&](const Node* node) { return groups_.name(node); });
  ensure(static_cast<bool>(answer), "a group has no body: " + answer.reason);
  return cost_of_built(std::move(answer.body), target_, facts_);
}

FusionEvaluator::Evaluation FusionEvaluator::evaluate_kernel(const Groups::Whole& whole) const {
  BodyAnswer answer = groups_.body(whole, [&](const Node* node) { return place_text(node); });
  if (!answer) return {.has_body = false, .reason = answer.reason, .shapes_reason = {}, .cost = {}};
  const Body& body = answer.body;
  Evaluation result;
  result.shapes_reason = shapes_refusal(body);
  result.reason = arguments_refusal(arguments_of(body), most_arrays_);
  if (result.reason.empty()) result.reason = split_refusal(body);
  if (result.reason.empty()) result.reason = final_refusal(body);
  if (result.reason.empty()) result.reason = row_column_refusal(body, target_, facts_);
  if (result.reason.empty()) result.reason = scatter_refusal(body);
  if (!result.reason.empty()) return result;
  const Node* turned = transposed_result(body);
  if (!turned) {
    result.cost = cost_of_built(std::move(answer.body), target_, facts_);
    return result;
  }
  const Body collapsed = collapse_axes(std::move(answer.body));
  if (writes_transposed(collapsed, *turned, target_, facts_))
    result.cost = cost_of(collapsed, target_, facts_);
  else
    result.reason = fmt::format(
        "{} lies along neighbouring rows, of which no block makes enough to write whole sectors",
        place_text(turned));
  return result;
}

/// Rows that do not stay on the SM may become sums in the place of their results, unless these are
/// written over what they are made of.
std::string FusionEvaluator::scatter_refusal(const Body& body) const {
  if (!body.scatter || stores_only_scatter(body) || rows_kept(body, target_, facts_) > 0) return {};
  const Node* parameter = parameter_of_.lookup(body.stores[0].node);
  const bool is_read = parameter && std::ranges::any_of(body.values, [&](const Value& value) {
                         return value.kind == Value::Kind::load && value.node == parameter;
                       });
  if (sums_in_results(body, target_, facts_) && !is_read) return {};
  return fmt::format(
      "rows of {} that stay on the SM would take so many blocks that all of them reading the "
      "indices takes longer than memory does",
      place_text(body.scatter->node));
}

std::string FusionEvaluator::split_refusal(const Body& body) const {
  // What columns take is predicted: however few they are, their cost decides.
  if (body.passes() == 1 || reduces_columns(body, facts_)) return {};
  if (!should_split_rows(body, target_, facts_)) return {};
  const std::int64_t rows = evaluate(body.parallel_size(), facts_.symbols);
  const std::int64_t extent = evaluate(body.reduced_size(), facts_.symbols);
  return fmt::format(
      "{} row{} of {} elements must be spread over all {} SMs, so its result is known only when "
      "the kernel ends",
      rows, rows == 1 ? "" : "s", extent, target_.sm_count);
}

/// The last block alone reduces the rows' values: not too many of them, and in row kernels only.
std::string FusionEvaluator::final_refusal(const Body& body) const {
  constexpr std::int64_t kMostRows = 65536;
  if (body.finals.empty()) return {};
  const std::int64_t rows = evaluate(body.parallel_size(), facts_.symbols);
  if (rows == 0) return "there is no row, and so no last block";
  if (rows > kMostRows)
    return fmt::format("one block would reduce the values of {} rows, more than {}", rows,
                       kMostRows);
  if (kind_of(body, target_, facts_) != KernelKind::row_reduce)
    return "the rows' values are spread over the threads of many blocks";
  return {};
}

std::string FusionEvaluator::shapes_refusal(const Body& body) const {
  for (const BodyStore& store : body.stores) {
    if (store.conditions.empty()) continue;
    if (!allows_other_shapes_) {
      has_deferred_ = true;
      return "a result of another shape joins later";
    }
    if (has_them_first_ && store.varies && !follows_loads(body, store.at))
      return fmt::format("{} lies across the rows of this kernel", place_text(store.node));
    const auto parameter = parameter_of_.find(store.node);
    if (parameter == parameter_of_.end()) continue;
    for (const Value& value : body.values)
      if (value.kind == Value::Kind::load && value.node == parameter->second)
        return fmt::format(
            "{} is written in place, where the kernel of a larger result may "
            "still read its old contents",
            place_text(parameter->second));
  }
  return {};
}

std::string FusionEvaluator::place_text(const Node* node) const {
  const int place = keys_.place(node);
  ensure(place >= 0, "a message is about a value that its kernel does not know");
  return fmt::format("{}{}{}", kPlaceMark, place, kPlaceMark);
}

std::string FusionEvaluator::in_words(const std::string& reason) const {
  std::string result;
  for (std::size_t at = 0;;) {
    const std::size_t begin = reason.find(kPlaceMark, at);
    result += reason.substr(at, begin - at);
    if (begin == reason.npos) return result;
    const std::size_t end = reason.find(kPlaceMark, begin + 1);
    int place = 0;
    std::from_chars(reason.data() + begin + 1, reason.data() + end, place);
    result += groups_.name(keys_.node_at(place));
    at = end + 1;
  }
}

}  // namespace sinter
