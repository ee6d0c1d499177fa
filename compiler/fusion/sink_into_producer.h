// Values that one kernel makes of another's result, and that the other may as well make itself.
#pragma once

#include <functional>

#include "compiler/fusion/group.h"

namespace sinter {

/// A concat that is a result, and that a group stores because it makes something else of it too, is
/// stored by the group that has all of its operands at hand, if the two take less time then.
/// `seconds` is what a group takes.
void sink_concats(Groups& groups, const std::function<double(int)>& seconds);

/// Where a group makes something smaller of a value that it alone reads, the group of the value
/// computes and stores that instead, if the two take less time then. True if something was handed
/// over.
bool sink_shrinking_consumers(Groups& groups, NodeSizes& sizes,
                              const std::function<double(int)>& seconds);

}  // namespace sinter
