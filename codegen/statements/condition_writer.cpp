// Writes conditions: tests of the concat segment that holds an element or a whole vector, and the
// loads and stores that they guard.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

bool KernelWriter::is_same_along_vector(const Condition& condition) const {
  return is_same_along(condition, vector_axis, schedule.vector, program.facts);
}

bool KernelWriter::are_same_along_vector(std::span<const Condition> conditions) const {
  return std::ranges::all_of(
      conditions, [&](const Condition& condition) { return is_same_along_vector(condition); });
}

/// True if `condition` holds at no element of a vector but its first.
bool KernelWriter::is_at_first(const Condition& condition) const {
  return vector_axis >= 0 && schedule.vector > 1 && condition.end == condition.begin + Extent(1) &&
         divisor_of(condition.begin, program.facts) % schedule.vector == 0 &&
         aligned_vector(condition.at, vector_axis, schedule.vector, program.facts) ==
             schedule.vector;
}

namespace {

/// `bound` minus `other_bound`, both relative to the axis terms of their conditions; nullopt if the
/// conditions have different axis terms.
std::optional<Extent> bound_difference(const Condition& condition, Extent bound,
                                       const Condition& other, Extent other_bound) {
  if (condition.at.terms != other.at.terms) return std::nullopt;
  return (bound - condition.at.constant) - (other_bound - other.at.constant);
}

/// True if the begin of `condition` must be checked. It need not be if it is 0, because an index
/// nested in a segment is never negative.
bool needs_begin_check(const Condition& condition) {
  const std::optional<Extent> smallest = lower_bound(condition.at);
  return !condition.begin.is(0) &&
         (!smallest || !provably_nonnegative(*smallest - condition.begin));
}

bool needs_end_check(const Condition& condition) {
  const std::optional<Extent> largest = upper_bound(condition.at);
  return !largest || !provably_less(*largest, condition.end);
}

/// True if another one of `all` implies this bound. Of two equal bounds, the first is written.
bool is_begin_implied(std::span<const Condition> all, std::size_t which) {
  for (std::size_t other = 0; other < all.size(); ++other) {
    if (other == which || !needs_begin_check(all[other])) continue;
    const std::optional<Extent> above =
        bound_difference(all[other], all[other].begin, all[which], all[which].begin);
    if (above && provably_nonnegative(*above) && (!above->is(0) || other < which)) return true;
  }
  return false;
}

bool is_end_implied(std::span<const Condition> all, std::size_t which) {
  for (std::size_t other = 0; other < all.size(); ++other) {
    if (other == which) continue;
    const std::optional<Extent> above =
        bound_difference(all[which], all[which].end, all[other], all[other].end);
    if (above && provably_nonnegative(*above) && (!above->is(0) || other < which)) return true;
  }
  return false;
}

/// The condition with the constant term of its index moved to the bounds. Unchanged if the constant
/// is symbolic or a coefficient is negative.
Condition with_constant_in_bounds(const Condition& condition) {
  const Extent constant = condition.at.constant;
  const auto is_backwards = [](const IndexTerm& term) {
    return provably_negative(term.coefficient);
  };
  if (!constant.is_number() || std::ranges::any_of(condition.at.terms, is_backwards))
    return condition;
  return {.at = {.constant = 0, .terms = condition.at.terms},
          .begin = condition.begin - constant,
          .end = condition.end - constant};
}

}  // namespace

bool KernelWriter::selects_unconverted_loads(const Value& select) const {
  return select.kind == Value::Kind::select && is_narrow(select.dtype) && schedule.vector == 1 &&
         kernel.kind == KernelKind::pointwise &&
         std::ranges::all_of(select.operands, [&](int operand) {
           const Value& segment = value_at(operand);
           return segment.kind == Value::Kind::load && segment.dtype == select.dtype &&
                  !segment.conditions.empty() && tiled_element(segment).empty();
         });
}

bool KernelWriter::is_unconverted_segment(int value) const {
  return std::ranges::any_of(body.values, [&](const Value& user) {
    return std::ranges::count(user.operands, value) > 0 && selects_unconverted_loads(user);
  });
}

std::string KernelWriter::condition_text(std::span<const Condition> conditions, bool at_element) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Condition condition = with_constant_in_bounds(conditions[i]);
    const std::string place =
        atomic(text(condition.at, at_element && !is_same_along_vector(condition)));
    if (condition.end == condition.begin + Extent(1)) {
      parts.push_back(fmt::format("{} == {}", place, text(condition.begin)));
      continue;
    }
    if (needs_begin_check(conditions[i]) && !is_begin_implied(conditions, i))
      parts.push_back(fmt::format("{} >= {}", place, text(condition.begin)));
    if (needs_end_check(conditions[i]) && !is_end_implied(conditions, i))
      parts.push_back(fmt::format("{} < {}", place, text(condition.end)));
  }
  if (parts.empty()) return conditions.empty() ? "" : "true";
  return fmt::format("{}", fmt::join(parts, " && "));
}

std::string KernelWriter::condition_of_vectors(const std::vector<Condition>& conditions) {
  std::vector<std::string> parts;
  for (const Condition& condition : conditions) {
    if (vector_axis < 0 || !has_unit_stride(condition.at, vector_axis) ||
        !needs_end_check(condition))
      continue;
    const Condition plain = with_constant_in_bounds(condition);
    // In an unrolled loop, the compiler then drops the tiles beyond the condition.
    if (before_tile > 0 && plain.at == body.space.axis(vector_axis) && plain.end.is_number())
      parts.push_back(fmt::format("tile < {}", ceil_div(plain.end, before_tile).number()));
    // The end comes first, because texts name symbols when they are made.
    const std::string end = text(plain.end);
    parts.push_back(fmt::format("{} < {}", atomic(text(plain.at, false)), end));
  }
  return fmt::format("{}", fmt::join(parts, " && "));
}

void KernelWriter::write_conditional_loads(std::span<const int> loads, const std::string& count) {
  struct Group {
    std::string condition;
    std::vector<std::string> lines;
  };
  std::vector<Group> groups;
  for (const int load : loads) {
    const Value& value = value_at(load);
    const std::string name = declare_loaded_vector(load, "{}");
    const std::string condition = condition_text(value.conditions, false);
    auto group = std::ranges::find(groups, condition, &Group::condition);
    if (group == groups.end()) group = groups.insert(group, {.condition = condition, .lines = {}});
    group->lines.push_back(
        fmt::format("{} = {};", name, load_call(value, load_form(value), count)));
  }
  for (const Group& group : groups) {
    const std::string head = fmt::format("if ({})", group.condition);
    if (group.lines.size() == 1)
      out.line(fmt::format("{} {}", head, group.lines[0]));
    else
      out.block(head, [&] {
        for (const std::string& line : group.lines) out.line(line);
      });
  }
}

}  // namespace sinter
