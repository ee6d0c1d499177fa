#include "runtime/binding/group_communicators.h"

#include <algorithm>

#include <fmt/format.h>

#include "sinter/error.h"

namespace sinter {

namespace {

[[noreturn]] void fail(const Interface& interface, std::string_view what) {
  throw UserError(
      fmt::format("context of {}: {} (compiled at {})", interface.name, what, interface.compiled_at));
}

/// `data (4 ranks), model (2 ranks)`
std::string groups_text(const Interface& interface) {
  std::vector<std::string> texts;
  for (const RankGroup& group : interface.groups)
    texts.push_back(fmt::format("{} ({} ranks)", group.name, group.size));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

GroupCommunicators::GroupCommunicators(const Interface& interface,
                                       std::span<const GroupCommunicator> given) {
  for (const GroupCommunicator& one : given) {
    const auto group = std::ranges::find(interface.groups, one.group, &RankGroup::name);
    // Collectives of one rank are not recorded, so the program does not know their group.
    if (group == interface.groups.end() && one.communicator.size() == 1) continue;
    if (group == interface.groups.end())
      fail(interface, interface.groups.empty()
                          ? fmt::format("the program has no collectives, so it needs no "
                                        "communicator for group {}",
                                        one.group)
                          : fmt::format("the program has no group {}; it has {}", one.group,
                                        groups_text(interface)));
    if (one.communicator.size() != group->size)
      fail(interface,
           fmt::format("group {} was recorded with {} ranks, but its communicator has {}; record "
                       "the graph with RankGroup{{\"{}\", communicator.size()}}",
                       one.group, group->size, one.communicator.size(), one.group));
    if (!engines_.try_emplace(group->name, one.communicator.engine()).second)
      fail(interface, fmt::format("group {} has two communicators; give it one", one.group));
  }
  for (const RankGroup& group : interface.groups)
    if (!engine_of(group.name))
      fail(interface, fmt::format("group {0} of {1} ranks has no communicator; call "
                                  "context({{{{\"{0}\", communicator}}}})",
                                  group.name, group.size));
}

}  // namespace sinter
