// GroupCommunicators: the communicators of a Context, one per group of the program's collectives.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "runtime/binding/interface.h"
#include "sinter/communicator.h"

namespace sinter {

class GroupCommunicators {
 public:
  /// Throws UserError if a group has no communicator, or one of another size, or if a communicator
  /// of several ranks has no group. One of a single rank needs none.
  GroupCommunicators(const Interface& interface, std::span<const GroupCommunicator> given);

  /// The engine of a group; null if there is none of this name.
  CommunicatorEngine* engine_of(std::string_view group) const {
    const auto found = engines_.find(group);
    return found == engines_.end() ? nullptr : found->second.get();
  }
  /// The engines by the names of their groups.
  const auto& engines() const { return engines_; }

 private:
  std::map<std::string, std::shared_ptr<CommunicatorEngine>, std::less<>> engines_;
};

}  // namespace sinter
