// Launches as they were counted against those that were predicted.
#pragma once

#include <span>
#include <string>

#include "runtime/driver/host/host_driver.h"
#include "sinter/report.h"

namespace sinter::test {

/// True if `launches` are those that `report` predicts, one after the other: of the same code, and
/// of the same bytes, or no more where these are bounds.
bool as_predicted(const Report& report, std::span<const host::Launch> launches);

/// What was predicted of each kernel and counted of each launch, a line each.
std::string per_launch(const Report& report, std::span<const host::Launch> launches);

}  // namespace sinter::test
