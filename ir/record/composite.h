// What functions written in ops have in common.
#pragma once

#include "ir/graph/node.h"
#include "sinter/ops.h"

namespace sinter {

/// While it lives, what is recorded gets the place of the user's call and not of the lines of the
/// composite. Every composite of more than one op begins with one.
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

/// A number recorded where `beside` is.
inline Operand number(double value, const Operand& beside) {
  return {Literal::of(value), beside.location};
}

/// −|x|, whose slope at 0 is −1, that from the right. So is the 1 of maximum(0, x): a smooth
/// function made of the two has at 0 the slope that it has around it. abs and maximum(x, 0) have
/// slope 0 there.
Tensor minus_magnitude(const Operand& x);

}  // namespace sinter
