#include "compiler/access.h"

#include "compiler/cost.h"

#include <algorithm>
#include <numeric>

namespace sinter {

namespace {

class PassPlanner {
 public:
  explicit PassPlanner(const Body& body) : body_(body) {}

  PassPlan plan(const PassPlan& before) {
    PassPlan plan{.needed = {}, .kept = before.kept, .first_pass = before.first_pass};
    const auto passes = static_cast<std::size_t>(body_.passes());
    plan.needed.assign(passes, std::vector<bool>(body_.values.size(), false));
    for (const BodyReduction& reduction : body_.reductions)
      need(plan, reduction.operand, reduction.stage);
    for (const BodyReduction& column : body_.columns) need(plan, column.operand, column.stage);
    for (const BodyStore& store : body_.stores)
      if (store.varies) need(plan, store.value, store.stage);
    plan.first_pass.assign(body_.values.size(), -1);
    for (std::size_t pass = passes; pass-- > 0;)
      for (std::size_t value = 0; value < body_.values.size(); ++value)
        if (plan.needed[pass][value]) plan.first_pass[value] = static_cast<int>(pass);
    return plan;
  }

 private:
  static bool is_kept(const PassPlan& plan, std::size_t value, int pass) {
    return std::ranges::binary_search(plan.kept, static_cast<int>(value)) &&
           plan.first_pass[value] < pass;
  }

  void need(PassPlan& plan, int root, int pass) {
    std::vector<bool>& needed = plan.needed[static_cast<std::size_t>(pass)];
    std::vector<int> pending = {root};
    while (!pending.empty()) {
      const auto at = static_cast<std::size_t>(pending.back());
      pending.pop_back();
      const Value& v = body_.values[at];
      if (!v.varies || needed[at]) continue;
      needed[at] = true;
      if (is_kept(plan, at, pass)) continue;
      for (const int operand : v.operands) pending.push_back(operand);
      // What an address is read through is needed too.
      for (const auto& [atom, source] : body_.indirect)
        if (uses(v.at, atom)) pending.push_back(source);
    }
  }

  static bool uses(const Index& index, const IndexAtom* atom) {
    return std::ranges::any_of(index.terms, [&](const IndexTerm& term) {
      return term.atom == atom || uses(term.atom->numerator, atom);
    });
  }

  const Body& body_;
};

/// True if a pass after the first that computes `value` uses it for what that pass is the first to
/// do.
bool is_used_later(const Body& body, const PassPlan& plan, std::size_t value) {
  const int born = plan.first_pass[value];
  for (std::size_t user = 0; user < body.values.size(); ++user) {
    const auto& operands = body.values[user].operands;
    const bool uses = std::ranges::find(operands, static_cast<int>(value)) != operands.end();
    if (uses && plan.first_pass[user] > born) return true;
  }
  const auto is_late = [&](int operand, int stage) {
    return operand == static_cast<int>(value) && stage > born;
  };
  const auto is_late_reduction = [&](const BodyReduction& reduction) {
    return is_late(reduction.operand, reduction.stage);
  };
  return std::ranges::any_of(body.stores,
                             [&](const BodyStore& store) {
                               return store.varies && is_late(store.value, store.stage);
                             }) ||
         std::ranges::any_of(body.reductions, is_late_reduction) ||
         std::ranges::any_of(body.columns, is_late_reduction);
}

}  // namespace

PassPlan plan_passes(const Body& body) { return PassPlanner(body).plan({}); }

namespace {

/// What to keep so that `value` is at hand in a later pass: itself, or what a few cheap ops make it
/// of.
class KeepInstead {
 public:
  explicit KeepInstead(const Body& body) : body_(body) {}

  std::vector<int> of(int value, std::span<const int> kept) const {
    std::vector<int> leaves;
    collect(value, leaves);
    std::int64_t more = 0;
    for (const int leaf : leaves)
      if (std::ranges::find(kept, leaf) == kept.end()) more += kept_bytes(at(leaf));
    // A cast is always redone: what it reads is kept instead.
    int narrow = value;
    while (at(narrow).kind == Value::Kind::op && at(narrow).node->op == Op::cast)
      narrow = at(narrow).operands[0];
    if (more > kept_bytes(at(narrow))) return {narrow};
    return leaves;
  }

 private:
  const Value& at(int value) const { return body_.values[static_cast<std::size_t>(value)]; }

  void collect(int value, std::vector<int>& leaves) const {
    const Value& v = at(value);
    if (!v.varies) return;
    if (v.kind == Value::Kind::op && v.node->op != Op::custom && instructions_of(v.node->op) <= 1) {
      for (const int operand : v.operands) collect(operand, leaves);
    } else if (std::ranges::find(leaves, value) == leaves.end()) {
      leaves.push_back(value);
    }
  }

  const Body& body_;
};

}  // namespace

PassPlan plan_resident_passes(const Body& body) {
  PassPlan plan = plan_passes(body);
  const KeepInstead keep(body);
  for (std::size_t value = 0; value < body.values.size(); ++value) {
    if (plan.first_pass[value] < 0 || !is_used_later(body, plan, value)) continue;
    for (const int leaf : keep.of(static_cast<int>(value), plan.kept))
      if (body.values[static_cast<std::size_t>(leaf)].varies &&
          std::ranges::find(plan.kept, leaf) == plan.kept.end())
        plan.kept.push_back(leaf);
  }
  std::ranges::sort(plan.kept);
  return PassPlanner(body).plan(plan);
}

int kept_bytes(const Value& value) {
  return size_of(value.kind == Value::Kind::load ? value.dtype : info(value.dtype).compute);
}

KeptSlots kept_slots(const Body& body, const PassPlan& plan) {
  const auto last_pass = [&](int value) {
    int last = 0;
    for (std::size_t pass = 0; pass < plan.needed.size(); ++pass)
      if (plan.needed[pass][static_cast<std::size_t>(value)]) last = static_cast<int>(pass);
    return last;
  };
  KeptSlots slots{.slot_of = std::vector<int>(plan.kept.size(), -1), .bytes = {}};
  std::vector<int> free_from;  // of each slot: the last pass that needs what is in it
  std::vector<std::size_t> order(plan.kept.size());
  std::iota(order.begin(), order.end(), 0);
  const auto born = [&](std::size_t i) {
    return plan.first_pass[static_cast<std::size_t>(plan.kept[i])];
  };
  std::ranges::stable_sort(order, {}, born);
  for (const std::size_t i : order) {
    const int value = plan.kept[i];
    const int bytes = kept_bytes(body.values[static_cast<std::size_t>(value)]);
    std::size_t slot = 0;
    while (slot < slots.bytes.size() && (slots.bytes[slot] != bytes || free_from[slot] > born(i)))
      ++slot;
    if (slot == slots.bytes.size()) {
      slots.bytes.push_back(bytes);
      free_from.push_back(0);
    }
    free_from[slot] = last_pass(value);
    slots.slot_of[i] = static_cast<int>(slot);
  }
  return slots;
}

PassPlan plan_loaded_passes(const Body& body) {
  PassPlan plan = plan_resident_passes(body);
  for (std::size_t value = 0; value < body.values.size(); ++value)
    if (plan.first_pass[value] >= 0 && body.values[value].kind == Value::Kind::load &&
        !std::ranges::binary_search(plan.kept, static_cast<int>(value)))
      plan.kept.insert(std::ranges::upper_bound(plan.kept, static_cast<int>(value)),
                       static_cast<int>(value));
  return PassPlanner(body).plan(plan);
}

bool is_same_in_rows(const Body& body, const Value& value) {
  if (value.kind != Value::Kind::load || !value.conditions.empty() || has_indirect(value.at))
    return false;
  for (int axis = 0; axis < body.parallel_axes; ++axis)
    if (depends_on(value.at, axis)) return false;
  return coefficient_of(value.at, body.reduced_axis()).has_value();
}

int kept_bytes_per_element(const Body& body, const PassPlan& plan) {
  int most = 0;
  for (int pass = 0; pass + 1 < static_cast<int>(plan.needed.size()); ++pass) {
    int alive = 0;
    for (const int value : plan.kept) {
      bool later = false;
      for (std::size_t next = static_cast<std::size_t>(pass) + 1; next < plan.needed.size(); ++next)
        later = later || plan.needed[next][static_cast<std::size_t>(value)];
      const Value& kept = body.values[static_cast<std::size_t>(value)];
      if (plan.first_pass[static_cast<std::size_t>(value)] <= pass && later)
        alive += kept_bytes(kept);
    }
    most = std::max(most, alive);
  }
  return most;
}

std::int64_t divisor_of(Extent extent, const Facts& facts) {
  constexpr std::int64_t kMost = 16;
  std::int64_t divisor = kMost;
  for (const ExtentTerm& term : terms_of(extent)) {
    std::int64_t known = std::gcd(term.coefficient, kMost);
    for (const ExtentAtom* atom : term.atoms) {
      const auto id = static_cast<std::size_t>(atom->id);
      if (!atom->name.empty() && id < facts.divisors.size()) known *= facts.divisors[id];
    }
    divisor = std::gcd(divisor, known);
  }
  return divisor;
}

int aligned_vector(const Index& at, int axis, int limit, const Facts& facts) {
  const std::optional<Extent> step = coefficient_of(at, axis);
  if (!step || !step->is(1)) return 1;
  std::int64_t divisor = divisor_of(at.constant, facts);
  for (const IndexTerm& term : at.terms) {
    if (term.atom->kind == IndexAtom::Kind::axis && term.atom->axis == axis) continue;
    divisor = std::gcd(divisor, divisor_of(term.coefficient, facts));
  }
  int width = 1;
  while (width * 2 <= limit && divisor % (width * 2) == 0) width *= 2;
  return width;
}

}  // namespace sinter
