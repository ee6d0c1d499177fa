#include "codegen/statements/element_loops.h"

#include <algorithm>

#include "compiler/program/op_cost.h"

namespace sinter {

namespace {

/// The instructions of one element, with a rounding to a narrow dtype.
int cost_of(const Value& value) {
  constexpr int kRounding = 6;
  if (value.kind != Value::Kind::op) return 1;
  return instructions_of(value.node->op) + (is_narrow(value.dtype) ? kRounding : 0);
}

/// Positions in the list of values at which each value of it is used, in ascending order. Values
/// outside of the list are computed in the last loop.
class Uses {
 public:
  Uses(const Body& body, std::span<const int> values) : of_(values.size()) {
    const std::size_t last = values.size() - 1;
    std::vector<std::size_t> position(body.values.size(), kNowhere);
    for (std::size_t i = 0; i < values.size(); ++i)
      position[static_cast<std::size_t>(values[i])] = i;
    const auto use = [&](int value, std::size_t at) {
      const std::size_t i = position[static_cast<std::size_t>(value)];
      if (i != kNowhere) of_[i].push_back(std::min(at, last));
    };
    for (std::size_t user = 0; user < body.values.size(); ++user)
      for (const int operand : body.values[user].operands) use(operand, position[user]);
    for (const auto& [atom, source] : body.indirect) use(source, last);
    for (const BodyStore& store : body.stores) use(store.value, last);
    for (std::vector<std::size_t>& uses : of_) std::ranges::sort(uses);
  }

  bool is_used_after(std::size_t value, std::size_t position) const {
    return !of_[value].empty() && of_[value].back() > position;
  }
  bool is_used_within(std::size_t value, std::size_t first, std::size_t last) const {
    const auto next = std::ranges::lower_bound(of_[value], first);
    return next != of_[value].end() && *next <= last;
  }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  std::vector<std::vector<std::size_t>> of_;
};

}  // namespace

std::vector<ElementLoop> split_element_loop(const Body& body, std::span<const int> values) {
  constexpr int kMostInstructions = 32;
  constexpr std::size_t kMostSaved = 3;
  std::vector<ElementLoop> loops(1);
  if (values.empty()) return loops;
  const Uses uses(body, values);
  const auto is_boolean = [&](std::size_t i) {
    return body.values[static_cast<std::size_t>(values[i])].dtype == DType::boolean;
  };
  std::vector<std::size_t> saved;  // by earlier loops; like `live`, positions in `values`
  std::vector<std::size_t> live;   // used later
  int instructions = 0;
  std::size_t first = 0;  // of the current loop
  for (std::size_t i = 0; i < values.size(); ++i) {
    loops.back().values.push_back(values[i]);
    instructions += cost_of(body.values[static_cast<std::size_t>(values[i])]);
    std::erase_if(live, [&](std::size_t one) { return !uses.is_used_after(one, i); });
    if (uses.is_used_after(i, i)) live.push_back(i);
    const bool is_last = i + 1 == values.size();
    // Memory holds a boolean in a byte, and vectors of bytes have other lengths.
    const bool may_end = instructions >= kMostInstructions && live.size() <= kMostSaved &&
                         std::ranges::none_of(live, is_boolean);
    if (!is_last && !may_end) continue;
    for (const std::size_t one : saved)
      if (uses.is_used_within(one, first, i)) loops.back().loaded.push_back(values[one]);
    if (is_last) break;
    for (const std::size_t one : live)
      if (one >= first) loops.back().saved.push_back(values[one]);
    saved = live;
    loops.emplace_back();
    instructions = 0;
    first = i + 1;
  }
  return loops;
}

}  // namespace sinter
