// What functions written in ops have in common.
#pragma once

#include "ir/node.h"
#include "sinter/ops.h"

namespace sinter {

/// While it lives, what is recorded gets the place of the user's call and not of the lines of the
/// composite. Every composite of more than one op begins with one.
class CalledAt {
 public:
  explicit CalledAt(const Operand& x)
      : graph_(x.tensor.graph()),
        first_(graph_ ? graph_->nodes.size() : 0),
        location_(x.location) {}
  CalledAt(const CalledAt&) = delete;
  CalledAt& operator=(const CalledAt&) = delete;
  ~CalledAt() {
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

}  // namespace sinter
