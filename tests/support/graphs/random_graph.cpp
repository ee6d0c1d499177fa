#include "tests/support/graphs/random_graph.h"

#include "ir/graph/node.h"
#include "ir/record/record.h"
#include "ir/shape/extent.h"
#include "sinter/ops.h"
#include "sinter/views.h"

#include <algorithm>
#include <random>

namespace sinter::test {

namespace {

constexpr std::int64_t kMostElements = 20000;  // of any value, so that the oracle stays fast

class Recorder {
 public:
  Recorder(unsigned seed, int ops) : random_(seed) {
    for (int axis = 0; axis < 3; ++axis) axes_.push_back(new_axis(axis));
    for (int i = 0; i < 3; ++i) add_input();
    if (chance(5)) add_list();
    for (int i = 0; i < ops; ++i) add_op();
    add_results();
    for (const ExtentAtom* symbol : result_.graph.data().extents->symbols())
      result_.symbols.push_back(symbol->name);
  }

  RandomGraph take() { return std::move(result_); }

 private:
  bool chance(unsigned percent) { return random_() % 100 < percent; }
  std::size_t below(std::size_t end) { return random_() % end; }
  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }
  Tensor pick() {
    // Picks newer values more often, so that graphs become deep.
    return chance(60)
               ? values_[values_.size() - 1 - below(std::min<std::size_t>(4, values_.size()))]
               : values_[below(values_.size())];
  }

  Extent new_axis(int axis) {
    const std::int64_t size =
        axis == 0 ? pick<std::int64_t>({1, 2, 3, 7, 12})
                  : pick<std::int64_t>({1, 2, 3, 4, 5, 8, 16, 17, 24, 33, 64, 100, 130});
    if (!chance(25)) return size;
    result_.sizes.push_back(chance(12) ? 0 : size);
    return graph_.extent("n" + std::to_string(axis));
  }

  std::int64_t elements(std::span<const Extent> shape) const {
    return evaluate(product(shape), result_.sizes);
  }
  bool fits(std::span<const Extent> shape) const {
    return shape.size() <= 4 && elements(shape) <= kMostElements;
  }

  void keep(Tensor value) {
    if (fits(value.node()->shape)) values_.push_back(value);
  }

  void add_input() {
    std::vector<Extent> shape;
    for (const Extent axis : axes_)
      if (chance(75)) shape.push_back(chance(10) ? Extent(1) : axis);
    while (!fits(shape)) shape.pop_back();
    const DType dtype = pick<DType>({f32, f32, f32, f16, bf16, i32, i64, f64, boolean});
    std::vector<Extent> strides;
    if (chance(25)) strides = padded_strides(shape);
    const std::string name = "in" + std::to_string(inputs_++);
    values_.push_back(graph_.input(name, dtype, shape, {.strides = strides}));
    if (is_floating(dtype)) parameters_.push_back(values_.back());
    if (chance(20)) values_.push_back(graph_.scalar(name + "_scale", pick<DType>({f32, i32})));
  }

  /// Strides of a row-major or column-major array with some padding.
  std::vector<Extent> padded_strides(std::span<const Extent> shape) {
    std::vector<std::size_t> order;
    for (std::size_t i = shape.size(); i-- > 0;) order.push_back(i);
    if (chance(50)) std::ranges::reverse(order);
    std::vector<Extent> strides(shape.size());
    Extent next = 1;
    for (const std::size_t axis : order) {
      strides[axis] = next;
      next = next * shape[axis] + pick<std::int64_t>({0, 0, 1, 4});
    }
    return strides;
  }

  void add_op() {
    const unsigned choice = static_cast<unsigned>(below(100));
    if (choice < 44) return add_elementwise();
    if (choice < 54)
      return keep(cast(pick(), pick<DType>({f32, f32, f16, bf16, i32, i64, boolean, i8, u16, u32,
                                            u64, f8e4m3, f8e5m2, f64})));
    if (choice < 68) return add_reduction();
    if (choice < 72) return add_crosswise_reductions();
    if (choice < 76) return add_scan();
    if (choice < 91) return add_view();
    if (choice < 94) return add_pad_or_concat();
    if (choice < 97) return add_gather();
    return add_input();
  }

  /// A random elementwise op of the table. Casts the first operand if its typing rule needs it.
  void add_elementwise() {
    const std::span<const OpInfo> table = op_table();
    const OpInfo& op = table[below(table.size())];
    if (op.kind != OpKind::elementwise) return add_elementwise();
    Tensor x = pick();
    DType dtype = x.node()->dtype;
    if (!supports_dtype(op.types, dtype)) {
      for (const DType other : {f32, i32, u64, boolean})
        if (supports_dtype(op.types, other)) dtype = other;
      x = cast(x, dtype);
    }
    if (is_floating(dtype) && chance(70)) x = into_domain(x, op.inputs);
    std::vector<Operand> operands;
    operands.push_back(x);
    if (op.types == TypeRule::Where)
      operands.insert(operands.begin(), cast(broadcast_partner(operands), boolean));
    while (static_cast<int>(operands.size()) < op.arity)
      operands.push_back(other(operands, dtype, op.inputs));
    if (op.types != TypeRule::Where) std::ranges::shuffle(operands, random_);
    keep(record_elementwise(op.op, operands));
  }

  /// A value whose shape broadcasts with those of `operands`, or sometimes a literal.
  Operand other(std::span<const Operand> operands, DType dtype, Inputs inputs) {
    if (chance(25) && dtype != boolean)
      return {is_floating(dtype) ? Literal::of(pick({0.5, 2.0, -1.0, 0.1, 1e-3, 0.0}))
                                 : Literal::of(pick({0, 1, 3, is_unsigned(dtype) ? 2 : -2})),
              Location{}};
    Tensor y = broadcast_partner(operands);
    if (y.node()->dtype != dtype) y = cast(y, dtype);
    return is_floating(dtype) && chance(70) ? into_domain(y, inputs) : y;
  }

  Tensor into_domain(Tensor x, Inputs inputs) {
    switch (inputs) {
      case Inputs::Small: return minimum(maximum(x, -4), 4);
      case Inputs::Unit: return minimum(maximum(x, -0.875), 0.875);
      case Inputs::Positive: return abs(x) + 0.5;
      case Inputs::AboveOne: return abs(x) + 1.125;
      default: return x;
    }
  }

  /// A value whose shape broadcasts with those of `operands`, or the first operand if none is
  /// found.
  Tensor broadcast_partner(std::span<const Operand> operands) {
    for (int i = 0; i < 8; ++i) {
      const Tensor y = pick();
      if (std::ranges::all_of(operands, [&](const Operand& x) {
            return x.is_literal() || broadcasts(x.tensor.node()->shape, y.node()->shape);
          }))
        return y;
    }
    return operands.front().tensor;
  }
  static bool broadcasts(std::span<const Extent> a, std::span<const Extent> b) {
    for (std::size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
      const Extent x = a[a.size() - i];
      const Extent y = b[b.size() - i];
      if (x != y && !x.is(1) && !y.is(1)) return false;
    }
    return true;
  }

  void add_reduction() {
    Tensor x = pick();
    const int rank = x.node()->rank();
    if (rank == 0) return;
    if (x.node()->dtype == boolean) x = cast(x, i32);
    std::vector<std::int64_t> axes;
    for (int axis = 0; axis < rank; ++axis)
      if (chance(50)) axes.push_back(axis);
    if (axes.empty()) axes.push_back(rank - 1);
    const Keep keeps = chance(50) ? Keep::yes : Keep::no;
    switch (below(is_floating(x.node()->dtype) ? 12 : 8)) {
      case 0: return keep(sum(x, axes, keeps));
      case 1: return keep(max(x, axes, keeps));
      case 2: return keep(min(x, axes, keeps));
      case 3:
        return elements(x.node()->shape) > 0 ? keep(argmax(x, static_cast<int>(axes[0]), keeps))
                                             : void();
      case 4: return keep(prod(x, axes, keeps));
      case 5: return keep(any(x, axes, keeps));
      case 6: return keep(all(x, axes, keeps));
      case 7:
        return elements(x.node()->shape) > 0 ? keep(argmin(x, static_cast<int>(axes[0]), keeps))
                                             : void();
      case 8: return keep(mean(x, axes, keeps));
      case 9: return keep(var(x, axes, static_cast<int>(below(2)), keeps));
      case 10: return keep(logsumexp(x, axes, keeps));
      default: return keep(softmax(cast(x, f32), static_cast<int>(axes[0])));
    }
  }

  /// Reduces the rows of a value, and then columns of a value that depends on the result.
  void add_crosswise_reductions() {
    Tensor x = pick();
    const int rank = x.node()->rank();
    if (rank < 2) return add_reduction();
    if (x.node()->dtype == boolean) x = cast(x, i32);
    std::vector<std::int64_t> others;
    for (int axis = 0; axis + 1 < rank; ++axis) others.push_back(axis);
    const Tensor rows = chance(50) ? sum(x, {-1}, Keep::yes) : max(x, {-1}, Keep::yes);
    const Tensor elements = chance(60) ? maximum(x, 0.5) * rows : x;
    const Keep keeps = chance(50) ? Keep::yes : Keep::no;
    const Tensor columns = chance(50)   ? sum(elements, others, keeps)
                           : chance(50) ? min(elements, others, keeps)
                                        : mean(cast(elements, f32), others, keeps) * 0.5;
    keep(rows);
    keep(columns);
    if (chance(50)) keep(elements);
    if (crosswise_.size() < 2) crosswise_.push_back({rows, columns});
  }

  void add_scan() {
    Tensor x = pick();
    const int rank = x.node()->rank();
    if (rank == 0) return;
    const int axis = static_cast<int>(below(static_cast<std::size_t>(rank)));
    const ScanOptions options{.exclusive = chance(30), .reverse = chance(30)};
    if (is_floating(x.node()->dtype) && chance(70)) x = into_domain(x, Inputs::Unit);
    switch (below(x.node()->dtype == boolean ? 2 : 4)) {
      case 0: return keep(cumsum(x, axis, options));
      case 1: return keep(cumprod(x, axis, options));
      case 2: return keep(cummax(x, axis, {.reverse = options.reverse}));
      default: return keep(cummin(x, axis, {.reverse = options.reverse}));
    }
  }

  /// A list as in optimizers: the same small computation for each of many equal tensors, updated in
  /// place.
  void add_list() {
    const std::size_t count = 8 + below(5);
    const std::vector<Extent> shape = {pick<std::int64_t>({1, 5, 16, 33, 96})};
    const DType dtype = pick<DType>({f32, f32, bf16, f16, f64});
    const bool has_norm = chance(30);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = "p" + std::to_string(i);
      const Tensor parameter = graph_.input(name, dtype, shape);
      const Tensor gradient = graph_.input("g" + std::to_string(i), dtype, shape);
      const Tensor step = has_norm ? gradient * cast(sum(gradient * gradient), dtype) : gradient;
      if (i == 0) values_.push_back(step);
      graph_.update(parameter, parameter - step * 0.125);
    }
  }

  /// Pads, slice_scatters, and concats of separately computed slices of one value.
  void add_pad_or_concat() {
    const Tensor x =
        parameters_.empty() || chance(50) ? pick() : parameters_[below(parameters_.size())];
    const std::span<const Extent> shape = x.node()->shape;
    const int rank = x.node()->rank();
    if (rank == 0 || x.node()->dtype == boolean) return;
    const int axis = static_cast<int>(below(static_cast<std::size_t>(rank)));
    if (chance(30)) {
      std::vector<std::int64_t> low(static_cast<std::size_t>(rank));
      std::vector<std::int64_t> high(low);
      low[static_cast<std::size_t>(axis)] = pick<std::int64_t>({0, 1, 3});
      high[static_cast<std::size_t>(axis)] = pick<std::int64_t>({0, 1, 2});
      return fits_twice(shape) ? keep(pad(x, low, high, chance(50) ? 0 : 2)) : void();
    }
    const Extent extent = shape[static_cast<std::size_t>(axis)];
    if (!extent.is_number() || extent.number() < 2) return;
    const auto cut =
        static_cast<std::int64_t>(1 + below(static_cast<std::size_t>(extent.number() - 1)));
    const Tensor first = slice(x, axis, 0, cut);
    const Tensor second = slice(x, axis, cut, extent);
    if (chance(30)) return keep(slice_scatter(x, first * 2, axis, 0, cut));
    // In swapped order, as in rotary embeddings, or in the original order.
    const std::vector<Operand> turned = {second * 3, first};
    const std::vector<Operand> straight = {first, maximum(second, 0)};
    keep(concat(chance(50) ? turned : straight, axis));
  }

  void add_view() {
    const Tensor x = pick();
    const std::span<const Extent> shape = x.node()->shape;
    const int rank = x.node()->rank();
    if (rank == 0) return keep(broadcast_to(x, axes_));
    const int axis = static_cast<int>(below(static_cast<std::size_t>(rank)));
    const Extent extent = shape[static_cast<std::size_t>(axis)];
    switch (below(7)) {
      case 0: {
        std::vector<std::int64_t> order;
        for (int i = 0; i < rank; ++i) order.push_back(i);
        std::ranges::shuffle(order, random_);
        return keep(permute(x, order));
      }
      case 1: return add_reshape(x, shape);
      case 2: {
        std::vector<Extent> wider(shape.begin(), shape.end());
        wider.insert(wider.begin(), Extent(2));
        for (std::size_t i = 0; i < wider.size() && i < axes_.size(); ++i)
          if (wider[wider.size() - 1 - i].is(1)) wider[wider.size() - 1 - i] = axes_.back();
        return fits(wider) ? keep(broadcast_to(x, wider)) : void();
      }
      case 3: {
        if (!extent.is_number() || extent.number() < 2) return;
        const std::int64_t begin = static_cast<std::int64_t>(below(2));
        return keep(slice(x, axis, begin, extent, static_cast<int>(1 + below(3))));
      }
      case 4: {
        std::vector<Operand> parts = {x, x};
        const Tensor y = broadcast_partner(parts);
        if (std::ranges::equal(y.node()->shape, shape))
          parts[1] = y.node()->dtype == x.node()->dtype ? y : cast(y, x.node()->dtype);
        return fits_twice(shape) ? keep(concat(parts, axis)) : void();
      }
      case 5: return keep(flip(x, {axis}));
      default: {
        if (elements(shape) == 0 || !fits_twice(shape)) return;
        return keep(cast(iota(graph_, extent, 1, 2), f32) * 0.25);
      }
    }
  }
  bool fits_twice(std::span<const Extent> shape) const {
    return 2 * elements(shape) <= kMostElements;
  }

  /// Merges two adjacent axes, splits one axis, or inserts an axis of extent 1.
  void add_reshape(Tensor x, std::span<const Extent> shape) {
    std::vector<Extent> other(shape.begin(), shape.end());
    const std::size_t at = below(shape.size());
    if (at + 1 < shape.size() && chance(50)) {
      other[at] = shape[at] * shape[at + 1];
      other.erase(other.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    } else if (shape[at].is_number() && shape[at].number() % 4 == 0 && shape[at].number() > 0) {
      other[at] = shape[at].number() / 4;
      other.insert(other.begin() + static_cast<std::ptrdiff_t>(at) + 1, Extent(4));
    } else {
      other.insert(other.begin() + static_cast<std::ptrdiff_t>(at), Extent(1));
    }
    keep(reshape(x, other));
  }

  void add_gather() {
    const Tensor x = pick();
    const int rank = x.node()->rank();
    if (rank == 0) return;
    const int axis = static_cast<int>(below(static_cast<std::size_t>(rank)));
    const Extent extent = x.node()->shape[static_cast<std::size_t>(axis)];
    if (!extent.is_number() || elements(x.node()->shape) == 0) return;
    if (chance(50)) {
      const std::string name = "at" + std::to_string(inputs_++);
      const Tensor indices = graph_.input(name, pick<DType>({i32, i64}), {Extent(5)});
      return keep(sinter::take(x, indices, axis));
    }
    if (x.node()->dtype == boolean) return;
    keep(take_along_axis(x, argmax(x, axis, Keep::yes), axis));
  }

  void add_results() {
    for (const auto& [rows, columns] : crosswise_) {
      graph_.output("rows" + std::to_string(results_), rows);
      graph_.output("columns" + std::to_string(results_++), columns);
    }
    const std::size_t count = 1 + below(4);
    for (std::size_t i = 0; i < count; ++i) {
      const Tensor value = i == 0 ? values_.back() : pick();
      std::vector<Extent> strides;
      if (chance(25)) strides = padded_strides(value.shape());
      graph_.output("out" + std::to_string(i), value, {.strides = strides});
      if (chance(40)) graph_.output("beside" + std::to_string(i), derived_result(value));
    }
    for (const Tensor& parameter : parameters_) {
      if (!chance(30)) continue;
      for (const Tensor& value : values_)
        if (value.node() != parameter.node() && value.node()->dtype == parameter.node()->dtype &&
            std::ranges::equal(value.node()->shape, parameter.node()->shape)) {
          graph_.update(parameter, value);
          break;
        }
    }
  }

  /// A result of another shape than `x`: a slice, a concat or a broadcast of it.
  Tensor derived_result(Tensor x) {
    const int rank = x.node()->rank();
    if (rank == 0) return broadcast_to(x, {Extent(3)});
    if (elements(x.node()->shape) == 0) return cast(x, f64);
    const int axis = static_cast<int>(below(static_cast<std::size_t>(rank)));
    const Extent extent = x.node()->shape[static_cast<std::size_t>(axis)];
    if (chance(40) && rank < 4) {
      std::vector<Extent> wider(x.node()->shape.begin(), x.node()->shape.end());
      wider.insert(wider.begin(), Extent(2));
      const Tensor all = broadcast_to(x, wider);
      return chance(50) ? all : reshape(all, {product(wider)});
    }
    if (chance(40)) {
      const Tensor y = cast(x, f32);
      const std::vector<Operand> parts = {chance(50) ? y : -y, y};
      return concat(parts, axis);
    }
    if (!extent.is_number()) return cast(x, f64);
    const auto end =
        static_cast<std::int64_t>(1 + below(static_cast<std::size_t>(extent.number())));
    const auto begin = static_cast<std::int64_t>(below(static_cast<std::size_t>(end)));
    const Tensor cut = slice(x, axis, begin, end, static_cast<int>(pick({1, 1, 1, 2})));
    return chance(50) ? cut : cast(cut, f32);
  }

  std::mt19937 random_;
  RandomGraph result_{.graph = Graph("random"), .symbols = {}, .sizes = {}};
  Graph& graph_ = result_.graph;
  std::vector<Extent> axes_;
  std::vector<Tensor> values_;
  std::vector<Tensor> parameters_;  // inputs that may be updated
  struct Crosswise {
    Tensor rows;
    Tensor columns;
  };
  std::vector<Crosswise> crosswise_;  // row and column reductions of one value, which are results
  int inputs_ = 0;
  int results_ = 0;
};

}  // namespace

RandomGraph random_graph(unsigned seed, int ops) { return Recorder(seed, ops).take(); }

}  // namespace sinter::test
