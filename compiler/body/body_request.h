// What fusion and scheduling ask of the builder of bodies, and its answer.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "compiler/body/body.h"

namespace sinter {

/// What is written, and with which strides; none: row-major.
struct StoreRequest {
  const Node* node = nullptr;
  std::span<const Extent> strides = {};
  int aligned = kWellAligned;  ///< elements that the memory begins at a multiple of
};

/// What a body is asked to compute.
struct BodyRequest {
  std::span<const Node* const> nodes;    ///< computed in the kernel, by ascending id
  std::span<const StoreRequest> stores;  ///< of them, or views of inputs
  /// The strides of what is read from memory; none: row-major. Not asked of inputs.
  std::function<std::span<const Extent>(const Node*)> strides;
  /// Elements that what is read begins at a multiple of; without it, kWellAligned.
  std::function<int(const Node*)> aligned = {};
};

/// A body, or the reason why there is none.
struct BodyAnswer {
  Body body;
  std::string reason;
  explicit operator bool() const { return reason.empty(); }
};

/// What values are called in messages.
using NodeNames = std::function<std::string(const Node*)>;

}  // namespace sinter
