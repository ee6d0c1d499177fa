// Comparison of two graphs that were recorded from calls of one function.
#pragma once

#include <string_view>

#include "runtime/driver/driver.h"

namespace sinter {

/// True if an executable graph that contains `built` as a child graph can take over the work of
/// `recorded` by cuGraphExecChildGraphNodeSetParams. False also if that is doubtful: types of
/// nodes, edges, or attributes of kernels differ, or the driver does not show them. The update
/// itself refuses further differences. Throws DriverError for the call `context`.
bool can_be_updated(const Driver& driver, CUgraph built, CUgraph recorded,
                    std::string_view context);

}  // namespace sinter
