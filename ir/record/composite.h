// Helpers of composites, the functions written in ops.
#pragma once

#include "ir/graph/node.h"
#include "sinter/ops.h"

namespace sinter {

/// Gives nodes that are recorded during its lifetime the location of the user's call, not of the
/// lines of the composite. Every composite of more than one op begins with a LocationScope.
class LocationScope {
 public:
  explicit LocationScope(const Operand& x)
      : graph_(x.tensor.graph()),
        first_(graph_ ? graph_->nodes.size() : 0),
        location_(x.location) {}
  LocationScope(const LocationScope&) = delete;
  LocationScope& operator=(const LocationScope&) = delete;
  ~LocationScope() {
    if (graph_) graph_->set_locations(first_, location_);
  }

 private:
  GraphData* graph_;
  std::size_t first_;
  Location location_;
};

/// A number as an operand with the location of `operand`.
inline Operand number_at(double value, const Operand& operand) {
  return {Literal::of(value), operand.location};
}

/// `y` as an operand with the source location of `like`, for messages.
inline Operand with_location(Tensor y, const Operand& like) {
  return {y, like.location.file, like.location.line};
}

/// −|x| with the slope of the right side, −1, at 0. maximum(0, x) also has the slope of the right
/// side, 1, at 0. A smooth function composed of the two therefore has its correct slope at 0. abs
/// and maximum(x, 0) have slope 0 there.
Tensor neg_abs(const Operand& x);

}  // namespace sinter
