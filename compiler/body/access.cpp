#include "compiler/body/access.h"

#include "compiler/program/op_cost.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace sinter {

namespace {

class PassPlanner {
 public:
  explicit PassPlanner(const Body& body) : body_(body) {}

  PassPlan plan(const PassPlan& before) {
    PassPlan plan{.needed = {}, .kept = before.kept, .first_pass = {}};
    plan.needed.resize(static_cast<std::size_t>(body_.passes()));
    plan.first_pass.assign(body_.values.size(), -1);
    for (int pass = body_.passes() - 1; pass >= 0; --pass) {
      is_kept_.assign(body_.values.size(), false);
      for (const int kept : before.kept)
        is_kept_[static_cast<std::size_t>(kept)] =
            before.first_pass[static_cast<std::size_t>(kept)] < pass;
      find_needed(pass, plan.first_pass);
      plan.needed[static_cast<std::size_t>(pass)].assign(needed_.begin(), needed_.end());
    }
    return plan;
  }

 private:
  void need(int value) {
    const auto at = static_cast<std::size_t>(value);
    if (body_.values[at].varies) needed_[at] = true;
  }

  /// Marks the results of `pass`, their operands, and the values that addresses are read through. A
  /// value comes after all its operands.
  void find_needed(int pass, std::vector<int>& first_pass) {
    needed_.assign(body_.values.size(), false);
    for (const BodyReduction& reduction : body_.reductions)
      if (reduction.stage == pass) need(reduction.operand);
    for (const BodyReduction& column : body_.columns)
      if (column.stage == pass) need(column.operand);
    for (const BodyStore& store : body_.stores)
      if (store.varies && store.stage == pass) need(store.value);
    for (std::size_t at = needed_.size(); at-- > 0;) {
      if (!needed_[at]) continue;
      first_pass[at] = pass;
      if (is_kept_[at]) continue;
      const Value& value = body_.values[at];
      for (const int operand : value.operands) need(operand);
      if (body_.indirect.empty()) continue;
      for (const auto& [atom, source] : body_.indirect)
        if (uses(value.at, atom)) need(source);
    }
  }

  static bool uses(const Index& index, const IndexAtom* atom) {
    return std::ranges::any_of(index.terms, [&](const IndexTerm& term) {
      return term.atom == atom || uses(term.atom->numerator, atom);
    });
  }

  const Body& body_;
  // By value, for the current pass; not bits, since they are read very often.
  std::vector<char> needed_, is_kept_;
};

/// For each value: true if a later pass than its first one uses it. Uses by values that the later
/// pass recomputes do not count.
std::vector<bool> used_later(const Body& body, const PassPlan& plan) {
  std::vector<bool> result(body.values.size());
  const auto use = [&](int operand, int pass) {
    const auto value = static_cast<std::size_t>(operand);
    if (pass > plan.first_pass[value]) result[value] = true;
  };
  for (std::size_t user = 0; user < body.values.size(); ++user)
    for (const int operand : body.values[user].operands) use(operand, plan.first_pass[user]);
  for (const BodyStore& store : body.stores)
    if (store.varies) use(store.value, store.stage);
  for (const BodyReduction& reduction : body.reductions) use(reduction.operand, reduction.stage);
  for (const BodyReduction& column : body.columns) use(column.operand, column.stage);
  return result;
}

/// The values to keep so that a later pass has `value`: the value itself, or the inputs of the few
/// cheap ops that compute it.
class ResidentValueChooser {
 public:
  explicit ResidentValueChooser(const Body& body)
      : body_(body), seen_for_(body.values.size(), -1) {}

  std::span<const int> of(int value, std::span<const int> kept) {
    leaves_.clear();
    value_ = value;
    collect(value);
    std::int64_t more = 0;
    for (const int leaf : leaves_)
      if (std::ranges::find(kept, leaf) == kept.end()) more += kept_bytes(at(leaf));
    // A cast is always recomputed, so its operand is kept instead.
    int narrow = value;
    while (at(narrow).kind == Value::Kind::op && at(narrow).node->op == Op::cast)
      narrow = at(narrow).operands[0];
    if (more > kept_bytes(at(narrow))) leaves_.assign({narrow});
    return leaves_;
  }

 private:
  const Value& at(int value) const { return body_.values[static_cast<std::size_t>(value)]; }

  void collect(int value) {
    const Value& v = at(value);
    if (!v.varies || std::exchange(seen_for_[static_cast<std::size_t>(value)], value_) == value_)
      return;
    if (v.kind == Value::Kind::op && v.node->op != Op::custom && instructions_of(v.node->op) <= 1) {
      for (const int operand : v.operands) collect(operand);
    } else {
      leaves_.push_back(value);
    }
  }

  const Body& body_;
  int value_ = -1;             ///< the requested value
  std::vector<int> leaves_;    ///< the values to keep for it
  std::vector<int> seen_for_;  ///< by value: the last requested value that reached it
};

bool depends_on_rows(const Body& body, const Index& at) {
  for (int axis = 0; axis < body.parallel_axes; ++axis)
    if (depends_on(at, axis)) return true;
  return false;
}

bool is_same_in_columns(const Body& body, const Value& value) {
  return !has_indirect(value.at) && !depends_on_rows(body, value.at) &&
         std::ranges::none_of(value.conditions, [&](const Condition& condition) {
           return depends_on_rows(body, condition.at);
         });
}

}  // namespace

PassPlan plan_passes(const Body& body) { return PassPlanner(body).plan({}); }

PassPlan plan_resident_passes(const Body& body) {
  PassPlan plan = plan_passes(body);
  if (body.passes() == 1) return plan;
  ResidentValueChooser keep(body);
  const std::vector<bool> is_used_later = used_later(body, plan);
  for (std::size_t value = 0; value < body.values.size(); ++value) {
    if (plan.first_pass[value] < 0 || !is_used_later[value]) continue;
    for (const int leaf : keep.of(static_cast<int>(value), plan.kept))
      if (body.values[static_cast<std::size_t>(leaf)].varies &&
          std::ranges::find(plan.kept, leaf) == plan.kept.end())
        plan.kept.push_back(leaf);
  }
  if (plan.kept.empty()) return plan;
  std::ranges::sort(plan.kept);
  return PassPlanner(body).plan(plan);
}

PassPlan plan_column_passes(const Body& body) {
  PassPlan plan = plan_resident_passes(body);
  std::erase_if(plan.kept, [&](int kept) {
    const Value& value = body.values[static_cast<std::size_t>(kept)];
    return value.kind == Value::Kind::load && is_same_in_columns(body, value);
  });
  return PassPlanner(body).plan(plan);
}

int kept_bytes(const Value& value) {
  return size_of(value.kind == Value::Kind::load ? value.dtype : info(value.dtype).compute);
}

int loads_of(const PassPlan& plan, std::size_t value) {
  const bool is_kept = std::ranges::binary_search(plan.kept, static_cast<int>(value));
  int times = 0;
  for (const std::vector<bool>& needed : plan.needed) times += needed[value] ? 1 : 0;
  return is_kept ? std::min(times, 1) : times;
}

int last_pass(const PassPlan& plan, std::size_t value) {
  auto pass = static_cast<int>(plan.needed.size()) - 1;
  while (pass >= 0 && !plan.needed[static_cast<std::size_t>(pass)][value]) --pass;
  return pass;
}

std::vector<std::int64_t> sums_by_pass(const Body& body,
                                       const std::function<std::int64_t(const Node&)>& of) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(body.passes()));
  for (const BodyReduction& reduction : body.reductions)
    sums[static_cast<std::size_t>(reduction.stage)] += of(*reduction.node);
  return sums;
}

KeptSlots kept_slots(const Body& body, const PassPlan& plan) {
  KeptSlots slots{.slot_of = std::vector<int>(plan.kept.size(), -1), .bytes = {}};
  std::vector<int> free_from;  // per slot: the last pass that needs its content
  std::vector<std::size_t> order(plan.kept.size());
  std::iota(order.begin(), order.end(), 0);
  const auto first_pass_of = [&](std::size_t i) {
    return plan.first_pass[static_cast<std::size_t>(plan.kept[i])];
  };
  std::ranges::stable_sort(order, {}, first_pass_of);
  for (const std::size_t i : order) {
    const auto value = static_cast<std::size_t>(plan.kept[i]);
    const int bytes = kept_bytes(body.values[value]);
    std::size_t slot = 0;
    while (slot < slots.bytes.size() &&
           (slots.bytes[slot] != bytes || free_from[slot] > first_pass_of(i)))
      ++slot;
    if (slot == slots.bytes.size()) {
      slots.bytes.push_back(bytes);
      free_from.push_back(0);
    }
    free_from[slot] = last_pass(plan, value);
    slots.slot_of[i] = static_cast<int>(slot);
  }
  return slots;
}

PassPlan plan_loaded_passes(const Body& body) {
  PassPlan plan = plan_resident_passes(body);
  for (std::size_t value = 0; value < body.values.size(); ++value)
    if (plan.first_pass[value] >= 0 && body.values[value].kind == Value::Kind::load &&
        std::ranges::find(plan.kept, static_cast<int>(value)) == plan.kept.end())
      plan.kept.push_back(static_cast<int>(value));
  std::ranges::sort(plan.kept);
  return PassPlanner(body).plan(plan);
}

bool is_same_in_rows(const Body& body, const Value& value) {
  return value.kind == Value::Kind::load && value.conditions.empty() && !has_indirect(value.at) &&
         !depends_on_rows(body, value.at) &&
         coefficient_of(value.at, body.reduced_axis()).has_value();
}

int kept_bytes_per_element(const Body& body, const PassPlan& plan) {
  int most = 0;
  for (int pass = 0; pass + 1 < static_cast<int>(plan.needed.size()); ++pass) {
    int alive = 0;
    for (const int kept : plan.kept) {
      const auto value = static_cast<std::size_t>(kept);
      if (plan.first_pass[value] <= pass && last_pass(plan, value) > pass)
        alive += kept_bytes(body.values[value]);
    }
    most = std::max(most, alive);
  }
  return most;
}

bool is_affine(const Index& at) {
  return std::ranges::all_of(
      at.terms, [](const IndexTerm& term) { return term.atom->kind == IndexAtom::Kind::axis; });
}

std::int64_t divisor_of(Extent extent, const Facts& facts) {
  constexpr std::int64_t kMaxDivisor = 16;
  if (extent.is_number()) return std::gcd(extent.number(), kMaxDivisor);
  std::int64_t divisor = kMaxDivisor;
  for (const ExtentTerm& term : terms_of(extent)) {
    std::int64_t known = std::gcd(term.coefficient, kMaxDivisor);
    for (const ExtentAtom* atom : term.atoms) {
      const auto id = static_cast<std::size_t>(atom->id);
      if (!atom->name.empty() && id < facts.divisors.size()) known *= facts.divisors[id];
    }
    divisor = std::gcd(divisor, known);
  }
  return divisor;
}

namespace {

/// True if `at` is a multiple of `width` at the first element of every vector along `axis`.
bool is_multiple(const Index& at, int axis, int width, const Facts& facts) {
  const auto divides = [&](Extent extent) { return divisor_of(extent, facts) % width == 0; };
  return divides(at.constant) && std::ranges::all_of(at.terms, [&](const IndexTerm& term) {
           const IndexAtom& atom = *term.atom;
           if (divides(term.coefficient)) return true;
           if (atom.kind == IndexAtom::Kind::axis) return atom.axis == axis;
           return atom.kind == IndexAtom::Kind::remainder && divides(atom.divisor) &&
                  is_multiple(atom.numerator, axis, width, facts);
         });
}

std::optional<Extent> step_along(const IndexAtom& atom, int axis, int width, const Facts& facts) {
  if ((atom.axes >> axis & 1) == 0) return 0;
  if (atom.kind == IndexAtom::Kind::axis) return 1;
  if (atom.kind == IndexAtom::Kind::indirect || width == 1) return std::nullopt;
  const std::optional<Extent> step = step_along(atom.numerator, axis, width, facts);
  if (step && step->is(0)) return 0;
  if (!step || !step->is(1) || divisor_of(atom.divisor, facts) % width != 0 ||
      !is_multiple(atom.numerator, axis, width, facts))
    return std::nullopt;
  return atom.kind == IndexAtom::Kind::remainder ? 1 : 0;
}

}  // namespace

std::optional<Extent> step_along(const Index& at, int axis, int width, const Facts& facts) {
  Extent result = 0;
  for (const IndexTerm& term : at.terms) {
    const std::optional<Extent> step = step_along(*term.atom, axis, width, facts);
    if (!step) return std::nullopt;
    result = result + term.coefficient * *step;
  }
  return result;
}

int aligned_vector(const Index& at, int axis, int limit, const Facts& facts) {
  const auto is_aligned = [&](int width) {
    const std::optional<Extent> step = step_along(at, axis, width, facts);
    return step && step->is(1) && is_multiple(at, axis, width, facts);
  };
  // Alignment for a vector implies alignment for half of it.
  int width = std::bit_floor(static_cast<unsigned>(std::max(limit, 1)));
  while (width > 1 && !is_aligned(width)) width /= 2;
  return width;
}

int widest_access(const Index& at, DType dtype, std::int64_t alignment, Extent extent, int axis,
                  int width, const Facts& facts) {
  const int size = size_of(dtype);
  const auto together = static_cast<int>(std::min<std::int64_t>(
      aligned_vector(at, axis, width, facts), std::max<std::int64_t>(alignment / size, 1)));
  if (together * size >= std::min(width * size, 16)) return width;
  return static_cast<int>(std::min<std::int64_t>(std::bit_floor(static_cast<unsigned>(together)),
                                                 divisor_of(extent, facts)));
}

PartialVector partial_vector_along(const Index& at, DType dtype, std::int64_t alignment, int axis,
                                   int most, const Facts& facts) {
  for (int each = most; each > 1; each /= 2) {
    const std::optional<Extent> step = step_along(at, axis, each, facts);
    if (!step) continue;
    if (step->is(0)) return {.each = each, .is_same = true};
    const int bytes = each * size_of(dtype);
    if (bytes <= 16 && bytes <= alignment && aligned_vector(at, axis, each, facts) == each)
      return {.each = each};
  }
  return {};
}

bool is_same_along(const Condition& condition, int axis, int width, const Facts& facts) {
  const Index& at = condition.at;
  if (axis < 0 || width == 1) return true;
  const std::optional<Extent> step = step_along(at, axis, width, facts);
  if (!step || step->is(0)) return step.has_value();
  const auto is_between_vectors = [&](Extent bound) {
    return is_multiple({.constant = at.constant - bound, .terms = at.terms}, axis, width, facts);
  };
  const std::optional<Extent> low = lower_bound(at);
  const std::optional<Extent> high = upper_bound(at);
  const bool begins_before = low && provably_nonnegative(*low - condition.begin);
  const bool ends_behind = high && provably_less(*high, condition.end);
  return step->is(1) && (begins_before || is_between_vectors(condition.begin)) &&
         (ends_behind || is_between_vectors(condition.end));
}

void narrow_range(Extent& begin, Extent& end, int axis, const Condition& condition) {
  const Index& at = condition.at;
  if (at.terms.size() != 1) return;
  const Extent step = coefficient_of(at, axis).value_or(0);
  if (!step.is(1) && !step.is(-1)) return;
  const bool runs_back = step.is(-1);
  const Extent first =
      runs_back ? at.constant - condition.end + Extent(1) : condition.begin - at.constant;
  const Extent last =
      runs_back ? at.constant - condition.begin + Extent(1) : condition.end - at.constant;
  if (provably_nonnegative(first - begin)) begin = first;
  if (provably_nonnegative(end - last)) end = last;
}

}  // namespace sinter
