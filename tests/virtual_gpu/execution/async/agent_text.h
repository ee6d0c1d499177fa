// text_of_thread: the name of a thread or of an agent of its copies, for messages.
#pragma once

#include <string>

#include "tests/virtual_gpu/execution/machine.h"

namespace sinter::virtual_gpu {

/// `block 3, thread 7`, or `an asynchronous copy of block 3, thread 7`. Agents of a launch have
/// block numbers behind those of the grid.
std::string text_of_thread(const ActiveLaunch& launch, const ThreadPosition& position);

}  // namespace sinter::virtual_gpu
