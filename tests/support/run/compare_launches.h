// Compares counted launches with predicted ones.
#pragma once

#include <span>
#include <string>

#include "runtime/driver/host/host_driver.h"
#include "sinter/report.h"

namespace sinter::test {

/// True if `launches` are the predicted launches of `report` in order. Each must have the predicted
/// code and bytes, or at most these bytes if they are bounds.
bool as_predicted(const Report& report, std::span<const host::Launch> launches);

/// The predicted bytes of each kernel and the counted bytes of each launch, one line each.
std::string per_launch(const Report& report, std::span<const host::Launch> launches);

}  // namespace sinter::test
