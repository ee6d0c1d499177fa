// Conditions: which segment of a concat an element or a whole vector lies in, and what happens
// there alone.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

bool KernelWriter::is_same_along_vector(const Condition& condition) const {
  return is_same_along(condition, vector_axis, schedule.vector, program.facts);
}

/// True if `condition` holds at no element of a vector but its first.
bool KernelWriter::is_at_first(const Condition& condition) const {
  return vector_axis >= 0 && schedule.vector > 1 && condition.end == condition.begin + Extent(1) &&
         divisor_of(condition.begin, program.facts) % schedule.vector == 0 &&
         aligned_vector(condition.at, vector_axis, schedule.vector, program.facts) ==
             schedule.vector;
}

namespace {

/// How much further up a bound of `condition` stands than one of `other`, which is over the same
/// axes; nullopt where it is not.
std::optional<Extent> distance(const Condition& condition, Extent bound, const Condition& other,
                               Extent other_bound) {
  if (condition.at.terms != other.at.terms) return std::nullopt;
  return (bound - condition.at.constant) - (other_bound - other.at.constant);
}

/// True if `condition` has to be asked for its begin. What is nested in a segment never lies before
/// 0.
bool asks_begin(const Condition& condition) {
  const std::optional<Extent> smallest = lower_bound(condition.at);
  return !condition.begin.is(0) &&
         (!smallest || !provably_nonnegative(*smallest - condition.begin));
}

bool asks_end(const Condition& condition) {
  const std::optional<Extent> largest = upper_bound(condition.at);
  return !largest || !provably_less(*largest, condition.end);
}

/// True if another one of `all` says as much and more; of two equal ones, the first is to be said.
bool is_begin_implied(const std::vector<Condition>& all, std::size_t which) {
  for (std::size_t other = 0; other < all.size(); ++other) {
    if (other == which || !asks_begin(all[other])) continue;
    const std::optional<Extent> above =
        distance(all[other], all[other].begin, all[which], all[which].begin);
    if (above && provably_nonnegative(*above) && (!above->is(0) || other < which)) return true;
  }
  return false;
}

bool is_end_implied(const std::vector<Condition>& all, std::size_t which) {
  for (std::size_t other = 0; other < all.size(); ++other) {
    if (other == which) continue;
    const std::optional<Extent> above =
        distance(all[which], all[which].end, all[other], all[other].end);
    if (above && provably_nonnegative(*above) && (!above->is(0) || other < which)) return true;
  }
  return false;
}

/// The same with the number beside the axes brought over to the bounds.
Condition written(const Condition& condition) {
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

bool KernelWriter::is_chosen_in_memory(const Value& select) const {
  return select.kind == Value::Kind::select && is_narrow(select.dtype) && schedule.vector == 1 &&
         kernel.kind == KernelKind::pointwise &&
         std::ranges::all_of(select.operands, [&](int operand) {
           const Value& segment = body.values[static_cast<std::size_t>(operand)];
           return segment.kind == Value::Kind::load && segment.dtype == select.dtype &&
                  !segment.conditions.empty() && tiled_element(segment).empty();
         });
}

bool KernelWriter::is_segment_in_memory(int value) const {
  return std::ranges::any_of(body.values, [&](const Value& user) {
    return std::ranges::count(user.operands, value) > 0 && is_chosen_in_memory(user);
  });
}

std::string KernelWriter::condition_text(const std::vector<Condition>& conditions,
                                         bool at_element) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Condition condition = written(conditions[i]);
    const std::string place =
        atomic(text(condition.at, at_element && !is_same_along_vector(condition)));
    if (condition.end == condition.begin + Extent(1)) {
      parts.push_back(fmt::format("{} == {}", place, text(condition.begin)));
      continue;
    }
    if (asks_begin(conditions[i]) && !is_begin_implied(conditions, i))
      parts.push_back(fmt::format("{} >= {}", place, text(condition.begin)));
    if (asks_end(conditions[i]) && !is_end_implied(conditions, i))
      parts.push_back(fmt::format("{} < {}", place, text(condition.end)));
  }
  if (parts.empty()) return conditions.empty() ? "" : "true";
  return fmt::format("{}", fmt::join(parts, " && "));
}

std::string KernelWriter::condition_of_vectors(const std::vector<Condition>& conditions) {
  std::vector<std::string> parts;
  for (const Condition& condition : conditions) {
    const std::optional<Extent> step =
        vector_axis < 0 ? std::nullopt : coefficient_of(condition.at, vector_axis);
    if (!step || !step->is(1) || !asks_end(condition)) continue;
    const Condition plain = written(condition);
    // The compiler then knows which tiles have none.
    if (before_tile > 0 && plain.at == body.space.axis(vector_axis) && plain.end.is_number())
      parts.push_back(fmt::format("tile < {}", ceil_div(plain.end, before_tile).number()));
    parts.push_back(fmt::format("{} < {}", atomic(text(plain.at, false)), text(plain.end)));
  }
  return fmt::format("{}", fmt::join(parts, " && "));
}

void KernelWriter::write_if(const BodyStore& store, bool at_element,
                            const std::function<void()>& write) {
  if (store.conditions.empty())
    write();
  else
    out.block(fmt::format("if ({})", condition_text(store.conditions, at_element)), write);
}

void KernelWriter::write_conditional_loads(std::span<const int> loads, const std::string& count) {
  struct Group {
    std::string condition;
    std::vector<std::string> lines;
  };
  std::vector<Group> groups;
  for (const int load : loads) {
    const Value& value = body.values[static_cast<std::size_t>(load)];
    const std::string name = name_for(value.node);
    out.line(
        fmt::format("Vector<{}, {}> {}{{}};", info(value.dtype).c_name, schedule.vector, name));
    texts_[static_cast<std::size_t>(load)] = computed(value.dtype, name + "[k]");
    const std::string condition = condition_text(value.conditions, false);
    auto group = std::ranges::find(groups, condition, &Group::condition);
    if (group == groups.end()) group = groups.insert(group, {.condition = condition, .lines = {}});
    group->lines.push_back(
        fmt::format("{} = {};", name, load_call(value, load_form(value), count)));
    count_load(value);
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
