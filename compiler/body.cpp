#include "compiler/body.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/body_key.h"
#include "ir/structural.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// Thrown inside the builder only: a body that cannot be is an everyday answer of `build_body`.
struct Refusal {
  std::string reason;
};

std::vector<Extent> parallel_extents(const Node& reduction) {
  const Node& operand = *reduction.operand(0);
  const std::span<const std::int64_t> axes = reduced_axes(reduction);
  std::vector<Extent> result;
  for (int axis = 0; axis < operand.rank(); ++axis)
    if (std::ranges::find(axes, axis) == axes.end())
      result.push_back(operand.shape[static_cast<std::size_t>(axis)]);
  return result;
}

Extent reduced_extent(const Node& reduction) {
  Extent result = 1;
  for (const std::int64_t axis : reduced_axes(reduction))
    result = result * reduction.operand(0)->shape[static_cast<std::size_t>(axis)];
  return result;
}

/// True for views that may have one element in several places, windows that overlap say. What is
/// broadcast is not meant: the axis does not occur in its address.
bool repeats_elements(const Node& node) {
  if (node.op == Op::as_strided) return true;
  return node.op == Op::unfold && attribute(node, "step").integer < attribute(node, "size").integer;
}

class Builder {
 public:
  Builder(const BodyRequest& request, const std::function<std::string(const Node*)>& names)
      : request_(request), names_(names) {
    for (const Node* node : request.nodes) inside_.insert(node);
  }

  Body build() {
    choose_space();
    for (const StoreRequest& store : request_.stores) add_store(store);
    return std::move(body_);
  }

 private:
  void choose_space() {
    for (const Node* node : request_.nodes)
      if (node->op == Op::scatter) return add_scatter_space(*node);
    for (const Node* node : request_.nodes)
      if (is_reduction(node->op) || is_scan(node->op)) {
        // The first recorded one; a reduction of its results over the rows comes later.
        add_reduction_space(*node);
        return;
      }
    // Without a reduction the first result is the space, walked as it lies in memory; the others
    // must have as many elements.
    const StoreRequest& first = request_.stores[0];
    std::vector<Index> position(first.node->shape.size());
    for (const int axis : memory_order(strides_of(first)))
      position[static_cast<std::size_t>(axis)] =
          body_.space.add_axis(first.node->shape[static_cast<std::size_t>(axis)]);
    body_.parallel_axes = body_.space.axis_count();
    row_ = body_.space.linearize(position, first.node->shape);
  }

  static std::vector<Extent> strides_of(const StoreRequest& store) {
    if (store.strides.empty()) return row_major_strides(store.node->shape);
    return {store.strides.begin(), store.strides.end()};
  }

  void add_reduction_space(const Node& reduction) {
    primary_ = &reduction;
    const std::vector<Extent> parallel = parallel_extents(reduction);
    for (const Extent extent : parallel) body_.space.add_axis(extent);
    body_.parallel_axes = static_cast<int>(parallel.size());
    body_.space.add_axis(reduced_extent(reduction));
    body_.has_reduced_axis = true;
    row_ = position_in(parallel);
    // The order of elements in memory of the primary operand: what stores of its size follow.
    element_ = body_.space.linearize(operand_position(reduction), reduction.operand(0)->shape);
  }

  /// Its result is all that the kernel stores: each block writes the rows that it owns, in the
  /// order of the indices, and nobody else may read them before it ends.
  void add_scatter_space(const Node& node) {
    if (request_.stores.size() != 1 || request_.stores[0].node != &node)
      throw Refusal{
          fmt::format("{} writes its rows in the order of its indices, which no other "
                      "result of a kernel follows",
                      names_(&node))};
    for (const Extent extent : {node.shape[0], node.shape[1], node.operand(1)->shape[0]})
      body_.space.add_axis(extent);
    body_.parallel_axes = 2;
    row_ = position_in(node.shape);
    scatter_ = &node;
  }

  Index position_in(std::span<const Extent> shape) {
    std::vector<Index> axes;
    for (int axis = 0; axis < body_.parallel_axes; ++axis) axes.push_back(body_.space.axis(axis));
    return body_.space.linearize(axes, shape);
  }

  /// Where `reduction` reads its operand at this row and this place on the reduced axis.
  std::vector<Index> operand_position(const Node& reduction) {
    const Node& operand = *reduction.operand(0);
    const std::vector<std::int64_t> order = reduction_order(reduction);
    std::vector<Extent> reduced;
    for (const std::int64_t axis : order)
      reduced.push_back(operand.shape[static_cast<std::size_t>(axis)]);
    const std::vector<Index> along =
        body_.space.delinearize(body_.space.axis(body_.parallel_axes), reduced);
    const std::vector<Index> across = body_.space.delinearize(row_, parallel_extents(reduction));
    std::vector<Index> result(operand.shape.size());
    std::size_t next = 0;
    for (std::size_t axis = 0; axis < result.size(); ++axis) {
      const auto place = std::ranges::find(order, static_cast<std::int64_t>(axis));
      result[axis] = place == order.end() ? across[next++]
                                          : along[static_cast<std::size_t>(place - order.begin())];
    }
    return result;
  }

  // --- stores -----------------------------------------------------------------------------------

  void add_scatter(const StoreRequest& request) {
    const Index row = body_.space.axis(0), column = body_.space.axis(1), k = body_.space.axis(2);
    const Index at[] = {row, column}, along[] = {k}, from[] = {k, column};
    const int base = evaluate(*scatter_->operand(0), at);
    const int index = evaluate(*scatter_->operand(1), along);
    const int source = evaluate(*scatter_->operand(2), from);
    body_.scatter = BodyScatter{.node = scatter_, .base = base, .index = index, .source = source};
    body_.stores.push_back({.node = scatter_,
                            .value = base,
                            .position = {row, column},
                            .at = address(body_.space, at, strides_of(request))});
  }

  void add_store(const StoreRequest& request) {
    const Node* node = request.node;
    if (node == scatter_) return add_scatter(request);
    const std::vector<Index> at = store_position(*node);
    const int value = evaluate(*node, at);
    BodyStore store{.node = node,
                    .value = value,
                    .position = at,
                    .at = address(body_.space, at, strides_of(request)),
                    .varies = false,
                    .stage = body_.values[static_cast<std::size_t>(value)].stage};
    store.varies = body_.has_reduced_axis && element_store(*node);
    store.is_final = body_.values[static_cast<std::size_t>(value)].is_final;
    if (store.is_final && !product(node->shape).is(1))
      throw Refusal{
          fmt::format("{} needs a result of all rows, which is known only when the kernel "
                      "ends",
                      names_(node))};
    if (!store.is_final && product(node->shape) != body_.parallel_size() && !store.varies)
      throw Refusal{fmt::format("{} is one number, computed once per row", names_(node))};
    if (!store.varies && body_.values[static_cast<std::size_t>(value)].varies)
      throw Refusal{fmt::format("{} has one element per row but varies within it", names_(node))};
    body_.stores.push_back(std::move(store));
  }

  bool element_store(const Node& node) const {
    if (!body_.has_reduced_axis) return false;
    const Extent size = product(node.shape);
    const bool has_rows_as_elements = is_scan(primary_->op) || size != body_.parallel_size();
    return size == body_.parallel_size() * body_.reduced_size() && has_rows_as_elements;
  }

  /// A bijection from the iteration space (or its rows) to the elements of `node`. A permuted
  /// result is walked as its operand is, so that what it reads lines up with the rows.
  std::vector<Index> store_position(const Node& node) {
    if (node.op == Op::permute && !inside_only_as_store(node)) {
      const std::vector<Index> from = store_position(*node.operand(0));
      const std::span<const std::int64_t> axes = attribute(node, "axes").integers;
      std::vector<Index> result;
      for (const std::int64_t axis : axes) result.push_back(from[static_cast<std::size_t>(axis)]);
      return result;
    }
    if (node.op == Op::reshape && !inside_only_as_store(node)) {
      const Node& from = *node.operand(0);
      return body_.space.delinearize(body_.space.linearize(store_position(from), from.shape),
                                     node.shape);
    }
    if (node.op == Op::flip && !inside_only_as_store(node))
      return operand_index(body_.space, node, 0, store_position(*node.operand(0)));
    const Extent size = product(node.shape);
    if (element_store(node)) return body_.space.delinearize(element_, node.shape);
    if (size == body_.parallel_size()) return body_.space.delinearize(row_, node.shape);
    // One number out of many rows: only a reduction over the rows can give it.
    if (size.is(1) && body_.has_reduced_axis) return std::vector<Index>(node.shape.size());
    throw Refusal{fmt::format("{} has {} elements, the kernel has {} rows of {}", names_(&node),
                              to_string(size), to_string(body_.parallel_size()),
                              to_string(body_.reduced_size()))};
  }

  /// A pointwise kernel that only stores a view walks the view itself.
  bool inside_only_as_store(const Node& node) const {
    return !body_.has_reduced_axis && &node == request_.stores[0].node;
  }

  // --- values -----------------------------------------------------------------------------------

  int evaluate(const Node& node, std::span<const Index> at) {
    std::vector<std::uint64_t> key = key_of(node, at);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    const int value = compute(node, at);
    known_.emplace(std::move(key), value);
    return value;
  }

  int compute(const Node& node, std::span<const Index> at) {
    if (is_free(node)) return free_value(node, at);
    // A view that is stored but not computed here is what a copy of it reads.
    const bool is_copied =
        std::ranges::find(request_.stores, &node, &StoreRequest::node) != request_.stores.end();
    const bool stored_elsewhere =
        node.op == Op::input || (!inside_.contains(&node) && (!is_view(node) || is_copied));
    if (stored_elsewhere) return load(node, at);
    if (is_reduction(node.op)) return reduced(node, at);
    if (is_scan(node.op)) return scanned(node, at);
    if (node.op == Op::scatter)
      throw Refusal{fmt::format("{} is known only when its kernel ends", names_(&node))};
    if (is_view(node)) {
      const bool outer = std::exchange(may_repeat_, may_repeat_ || repeats_elements(node));
      const int value = evaluate(*node.operand(0), operand_index(body_.space, node, 0, at));
      may_repeat_ = outer;
      return value;
    }
    if (node.op == Op::take || node.op == Op::take_along_axis) return gather(node, at);
    if (node.op == Op::concat) return select(node, at);
    Value value{.kind = Value::Kind::op, .node = &node, .dtype = node.dtype};
    for (std::size_t i = 0; i < node.operands.size(); ++i)
      value.operands.push_back(evaluate(*node.operand(i), operand_index(body_.space, node, i, at)));
    return add(std::move(value));
  }

  int gather(const Node& node, std::span<const Index> at) {
    std::vector<Index> from = operand_index(body_.space, node, 0, at);
    // Inside a concat the indices are read for its own piece only.
    Index& index = from[static_cast<std::size_t>(attribute(node, "axis").integer)];
    const IndexAtom& atom = *index.terms[0].atom;
    index = body_.space.indirect(atom.tensor, atom.at, atom.divisor, branch());
    resolve_indirect(from);
    return evaluate(*node.operand(0), from);
  }

  int free_value(const Node& node, std::span<const Index> at) {
    Value value{.kind = Value::Kind::literal, .node = &node, .dtype = node.dtype};
    if (node.op == Op::scalar) value.kind = Value::Kind::scalar;
    if (node.op == Op::size) {
      value.kind = Value::Kind::number;
      value.at = constant_index(attribute(node, "extent").extent);
    }
    if (node.op == Op::iota) {
      value.kind = Value::Kind::number;
      value.at = body_.space.add(body_.space.scale(at[0], attribute(node, "step").integer),
                                 constant_index(attribute(node, "start").integer));
      value.varies = varies(value.at);
      value.stage = stage(value.at);
    }
    return add(std::move(value));
  }

  int load(const Node& node, std::span<const Index> at) {
    resolve_indirect(at);
    const std::vector<Extent> strides =
        node.op == Op::input ? sinter::strides_of(node)
                             : strides_of({.node = &node, .strides = request_.strides(&node)});
    Value value{.kind = Value::Kind::load, .node = &node, .dtype = node.dtype};
    value.at = address(body_.space, at, strides);
    value.conditions = conditions_;
    value.may_repeat = may_repeat_;
    value.varies = varies(value.at);
    value.stage = stage(value.at);
    for (const Condition& condition : conditions_) value.varies |= varies(condition.at);
    return add(std::move(value));
  }

  /// True if `node` reduces one value per row of this kernel over all rows, in their order.
  bool is_over_rows(const Node& node) const {
    const std::vector<std::int64_t> order = reduction_order(node);
    return primary_ != &node && !body_.parallel_size().is(1) &&
           reduced_extent(node) == body_.parallel_size() && product(node.shape).is(1) &&
           reduced_extent(node) == product(node.operand(0)->shape) && std::ranges::is_sorted(order);
  }

  int final_result(const Node& node) {
    for (const BodyReduction& known : body_.finals)
      if (known.node == &node) return known.result;
    const Node& from = *node.operand(0);
    const std::vector<Condition> outer = std::exchange(conditions_, {});
    const int operand = evaluate(from, body_.space.delinearize(row_, from.shape));
    conditions_ = outer;
    const Value value = body_.values[static_cast<std::size_t>(operand)];
    if (value.varies || value.is_final)
      throw Refusal{fmt::format("{} does not reduce one value per row", names_(&node))};
    const int result = add({.kind = Value::Kind::reduced,
                            .node = &node,
                            .dtype = node.dtype,
                            .operands = {},
                            .at = {},
                            .conditions = {},
                            .varies = false,
                            .stage = value.stage,
                            .is_final = true});
    body_.finals.push_back(
        {.node = &node, .operand = operand, .result = result, .stage = value.stage});
    return result;
  }

  /// A kernel has one scan and nothing that needs a whole row.
  int scanned(const Node& node, std::span<const Index> at) {
    if (primary_ != &node)
      throw Refusal{fmt::format("{} scans its rows from beginning to end, in a kernel of its own",
                                names_(&node))};
    if (body_.space.linearize(at, node.shape) != element_)
      throw Refusal{fmt::format("{} is needed at other places than the one that the scan is at",
                                names_(&node))};
    if (body_.scan) return body_.scan->result;
    const std::vector<Condition> outer = std::exchange(conditions_, {});
    const int operand = evaluate(*node.operand(0), operand_position(node));
    conditions_ = outer;
    Value value{.kind = Value::Kind::scanned, .node = &node, .dtype = node.dtype};
    value.operands.push_back(operand);
    value.varies = true;
    const int result = add(std::move(value));
    body_.scan = BodyScan{.node = &node, .operand = operand, .result = result};
    return result;
  }

  int reduced(const Node& node, std::span<const Index> at) {
    if (primary_ && is_scan(primary_->op))
      throw Refusal{fmt::format("{} scans its rows from beginning to end, in a kernel of its own",
                                names_(primary_))};
    if (scatter_)
      throw Refusal{fmt::format("{} needs a result that a whole row makes", names_(scatter_))};
    if (is_over_rows(node)) return final_result(node);
    if (reduced_extent(node) != body_.reduced_size())
      throw Refusal{fmt::format("{} reduces {} elements and {} reduces {}", names_(&node),
                                to_string(reduced_extent(node)), names_(primary_),
                                to_string(body_.reduced_size()))};
    // The kept axes have extent 1, so the shape in row-major order is that of the rows.
    if (product(node.shape) != body_.parallel_size() ||
        body_.space.linearize(at, node.shape) != row_)
      throw Refusal{
          fmt::format("{} is needed at other rows than the one being computed", names_(&node))};
    for (const BodyReduction& known : body_.reductions)
      if (known.node == &node) return known.result;
    const std::vector<Condition> outer = std::exchange(conditions_, {});
    const int operand = evaluate(*node.operand(0), operand_position(node));
    conditions_ = outer;
    const int pass = body_.values[static_cast<std::size_t>(operand)].stage;
    if (body_.values[static_cast<std::size_t>(operand)].is_final)
      throw Refusal{fmt::format("{} needs a result of all rows", names_(&node))};
    const int result = add({.kind = Value::Kind::reduced,
                            .node = &node,
                            .dtype = node.dtype,
                            .operands = {},
                            .at = {},
                            .conditions = {},
                            .varies = false,
                            .stage = pass + 1});
    body_.reductions.push_back(
        {.node = &node, .operand = operand, .result = result, .stage = pass});
    return result;
  }

  int select(const Node& node, std::span<const Index> at) {
    Value value{.kind = Value::Kind::select, .node = &node, .dtype = node.dtype};
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const Piece piece = concat_piece(node, i);
      Condition condition{
          .at = at[static_cast<std::size_t>(piece.axis)], .begin = piece.begin, .end = piece.end};
      value.varies |= varies(condition.at);
      conditions_.push_back(condition);
      value.operands.push_back(evaluate(*node.operand(i), operand_index(body_.space, node, i, at)));
      conditions_.pop_back();
      if (i + 1 < node.operands.size()) value.conditions.push_back(std::move(condition));
    }
    return add(std::move(value));
  }

  /// Computes the values that the indirect atoms of `at` stand for.
  void resolve_indirect(std::span<const Index> at) {
    for (const Index& index : at)
      for (const IndexTerm& term : index.terms) resolve_indirect(*term.atom);
  }
  void resolve_indirect(const IndexAtom& atom) {
    resolve_indirect({&atom.numerator, 1});
    if (atom.kind != IndexAtom::Kind::indirect || body_.indirect.contains(&atom)) return;
    const int value = evaluate(*atom.tensor, atom.at);
    body_.indirect[&atom] = value;
  }

  /// The number of the conditions that hold here; 0 for none.
  int branch() {
    std::vector<std::uint64_t> key;
    append(key, conditions_);
    return branches_.try_emplace(std::move(key), static_cast<int>(branches_.size())).first->second;
  }

  bool varies(const Index& index) const {
    if (!body_.has_reduced_axis) return false;
    return depends_on(index, body_.reduced_axis());
  }

  int stage(const Index& index) const {
    int result = 0;
    for (const IndexTerm& term : index.terms) {
      result = std::max(result, stage(term.atom->numerator));
      if (const auto found = body_.indirect.find(term.atom); found != body_.indirect.end())
        result = std::max(result, body_.values[static_cast<std::size_t>(found->second)].stage);
    }
    return result;
  }

  int add(Value value) {
    for (const int operand : value.operands) {
      value.varies |= body_.values[static_cast<std::size_t>(operand)].varies;
      value.stage = std::max(value.stage, body_.values[static_cast<std::size_t>(operand)].stage);
      value.is_final |= body_.values[static_cast<std::size_t>(operand)].is_final;
    }
    body_.values.push_back(std::move(value));
    return static_cast<int>(body_.values.size()) - 1;
  }

  std::vector<std::uint64_t> key_of(const Node& node, std::span<const Index> at) const {
    std::vector<std::uint64_t> key = {node.id};
    if (is_free(node) && node.op != Op::iota) return key;
    for (const Index& index : at) append(key, index);
    append(key, conditions_);
    return key;
  }

  const BodyRequest& request_;
  const std::function<std::string(const Node*)>& names_;
  llvm::DenseSet<const Node*> inside_;
  Body body_;
  const Node* primary_ = nullptr;
  const Node* scatter_ = nullptr;
  Index row_;      ///< row-major number of the row over the parallel axes
  Index element_;  ///< row-major number of the element over the primary operand's shape
  std::vector<Condition> conditions_;
  bool may_repeat_ = false;  ///< some view on the way has an element in several places
  std::map<std::vector<std::uint64_t>, int> branches_ = {{{}, 0}};  ///< by the conditions
  std::map<std::vector<std::uint64_t>, int> known_;
};

}  // namespace

BodyAnswer build_body(const BodyRequest& request,
                      const std::function<std::string(const Node*)>& names) {
  BodyAnswer answer;
  try {
    answer.body = Builder(request, names).build();
  } catch (Refusal& refusal) {
    answer.why_not = std::move(refusal.reason);
  }
  return answer;
}

}  // namespace sinter
