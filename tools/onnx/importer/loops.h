// Loop and Scan: their iterations are recorded one after the other.
#pragma once

#include "tools/onnx/importer/node_importer.h"

#include <span>
#include <vector>

namespace sinter::onnx {

/// The number of iterations must be known at import, as the trip count or by the condition. With a
/// trip count, the condition may be computed at run time if the loop collects no outputs. All
/// iterations are then recorded, and those after the end change nothing. Without a condition input,
/// the body's condition does not end the loop.
std::vector<ValueRef> import_loop(ImportState& state, const Call& call,
                                  std::span<const ValueRef> inputs, const Scope& scope,
                                  const NodeSurroundings& around);

/// The scanned axes must have a known extent, and before opset 9 also the axis of the batch.
std::vector<ValueRef> import_scan(ImportState& state, const Call& call,
                                  std::span<const ValueRef> inputs, const Scope& scope,
                                  const NodeSurroundings& around);

}  // namespace sinter::onnx
