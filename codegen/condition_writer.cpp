// Conditions: which piece of a concat an element or a whole vector lies in, and what happens there
// alone.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/kernel_writer.h"

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

std::string KernelWriter::condition_text(const std::vector<Condition>& conditions,
                                         bool at_element) {
  std::vector<std::string> parts;
  for (const Condition& condition : conditions) {
    const std::string place =
        atomic(text(condition.at, at_element && !is_same_along_vector(condition)));
    if (condition.end == condition.begin + Extent(1)) {
      parts.push_back(fmt::format("{} == {}", place, text(condition.begin)));
      continue;
    }
    if (!condition.begin.is(0))
      parts.push_back(fmt::format("{} >= {}", place, text(condition.begin)));
    const std::optional<Extent> largest = upper_bound(condition.at);
    if (!largest || !provably_less(*largest, condition.end))
      parts.push_back(fmt::format("{} < {}", place, text(condition.end)));
  }
  if (parts.empty()) return conditions.empty() ? "" : "true";
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
