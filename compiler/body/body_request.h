// The request of fusion and scheduling to the body builder, and its answer.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "compiler/body/body.h"

namespace sinter {

/// A value to store, and its strides; no strides: row-major.
struct StoreRequest {
  const Node* node = nullptr;
  std::span<const Extent> strides = {};
  int aligned = kWellAligned;  ///< the memory starts at a multiple of this many elements
};

/// The nodes and stores that a body must compute.
struct BodyRequest {
  std::span<const Node* const> nodes;    ///< computed in the kernel, by ascending id
  std::span<const StoreRequest> stores;  ///< of computed nodes, or of views of inputs
  /// Returns the strides of a value in memory; none: row-major. Not called for inputs.
  std::function<std::span<const Extent>(const Node*)> strides;
  /// Returns the number of elements that a loaded value's start is a multiple of. If unset:
  /// kWellAligned.
  std::function<int(const Node*)> aligned = {};
};

/// A body, or the reason why there is none.
struct BodyAnswer {
  Body body;
  std::string reason;
  explicit operator bool() const { return reason.empty(); }
};

/// Returns the name of a value for messages.
using NodeNames = std::function<std::string(const Node*)>;

}  // namespace sinter
