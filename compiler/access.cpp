#include "compiler/access.h"

#include <algorithm>
#include <numeric>

namespace sinter {

namespace {

bool is_affine(const Index& index) {
  return std::ranges::all_of(index.terms, [](const IndexTerm& term) {
    return term.atom->kind == IndexAtom::Kind::axis;
  });
}

/// The part of an axis that `conditions` leave.
Extent visible_extent(const Body& body, int axis, const std::vector<Condition>& conditions) {
  for (const Condition& condition : conditions) {
    const std::optional<Extent> coefficient = coefficient_of(condition.at, axis);
    if (coefficient && coefficient->is(1) && condition.at.terms.size() == 1)
      return condition.end - condition.begin;
  }
  return body.space.extent(axis);
}

Extent elements_of(const Body& body, const Index& at, const std::vector<Condition>& conditions,
                   const Node& node) {
  Extent moved = 1;
  for (int axis = 0; axis < body.space.axis_count(); ++axis)
    if (depends_on(at, axis)) moved = moved * visible_extent(body, axis, conditions);
  if (is_affine(at)) return moved;
  const Extent all = product(node.shape);
  if (all == moved || provably_nonnegative(all - moved)) return moved;
  return all;
}

}  // namespace

Extent touched_elements(const Body& body, const Value& value) {
  return elements_of(body, value.at, value.conditions, *value.node);
}

Extent stored_elements(const Body& body, const BodyStore& store) {
  Extent result = body.parallel_size();
  if (store.varies) result = result * body.reduced_size();
  return result;
}

namespace {

void need(const Body& body, int value, int pass, std::span<const int> kept,
          std::vector<bool>& needed) {
  std::vector<int> pending = {value};
  while (!pending.empty()) {
    const auto at = static_cast<std::size_t>(pending.back());
    pending.pop_back();
    const Value& v = body.values[at];
    if (!v.varies || needed[at]) continue;
    needed[at] = true;
    if (v.stage < pass && std::ranges::find(kept, static_cast<int>(at)) != kept.end()) continue;
    for (const int operand : v.operands) pending.push_back(operand);
    // What an address is read through is needed too.
    for (const auto& [atom, source] : body.indirect)
      for (const IndexTerm& term : v.at.terms)
        if (term.atom == atom) pending.push_back(source);
  }
}

}  // namespace

std::vector<std::vector<bool>> values_needed(const Body& body, std::span<const int> kept) {
  std::vector<std::vector<bool>> result(static_cast<std::size_t>(body.passes()),
                                        std::vector<bool>(body.values.size(), false));
  for (const BodyReduction& reduction : body.reductions)
    need(body, reduction.operand, reduction.stage, kept,
         result[static_cast<std::size_t>(reduction.stage)]);
  for (const BodyStore& store : body.stores)
    if (store.varies)
      need(body, store.value, store.stage, kept, result[static_cast<std::size_t>(store.stage)]);
  return result;
}

std::vector<int> values_kept(const Body& body) {
  const std::vector<std::vector<bool>> needed = values_needed(body);
  std::vector<int> kept;
  for (std::size_t value = 0; value < body.values.size(); ++value) {
    const Value& v = body.values[value];
    const auto born = static_cast<std::size_t>(v.stage);
    bool later = false;
    for (std::size_t pass = born + 1; pass < needed.size(); ++pass)
      later = later || needed[pass][value];
    if (!v.varies || !later) continue;
    // A value that later passes need only by way of users that are kept themselves is not kept.
    bool used_late = false;
    for (std::size_t user = 0; user < body.values.size(); ++user) {
      const Value& u = body.values[user];
      if (std::ranges::find(u.operands, static_cast<int>(value)) == u.operands.end()) continue;
      for (std::size_t pass = born + 1; pass < needed.size(); ++pass)
        used_late = used_late || (needed[pass][user] && static_cast<std::size_t>(u.stage) >= pass);
    }
    for (const BodyStore& store : body.stores)
      used_late = used_late || (store.value == static_cast<int>(value) &&
                                static_cast<std::size_t>(store.stage) > born);
    for (const BodyReduction& reduction : body.reductions)
      used_late = used_late || (reduction.operand == static_cast<int>(value) &&
                                static_cast<std::size_t>(reduction.stage) > born);
    if (!used_late) continue;
    // A cast is redone from what was loaded, which is narrower.
    int keep = static_cast<int>(value);
    while (body.values[static_cast<std::size_t>(keep)].kind == Value::Kind::op &&
           body.values[static_cast<std::size_t>(keep)].node->op == Op::cast)
      keep = body.values[static_cast<std::size_t>(keep)].operands[0];
    if (std::ranges::find(kept, keep) == kept.end()) kept.push_back(keep);
  }
  std::ranges::sort(kept);
  return kept;
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
