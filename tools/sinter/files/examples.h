// Sets of inputs from arrays that may have one more axis.
#pragma once

#include "tools/sinter/files/device_arrays.h"

#include <list>
#include <span>
#include <vector>

namespace sinter::command {

/// Sets of inputs of a graph on a device. Runs may change the arrays.
class Examples {
 public:
  /// An array of `inputs` with one more axis than its input has an example per index of its first
  /// axis. The other ones, and `others`, are the same in all examples. There is no example without
  /// `inputs`. Throws UsageError if inputs have different numbers of examples.
  Examples(const Graph& graph, const HostArrays& inputs, const HostArrays& others,
           const Stream& stream);

  std::span<const std::vector<Binding>> bindings() const { return bindings_; }

 private:
  DeviceArrays common_;
  std::list<DeviceArrays> arrays_;
  std::vector<std::vector<Binding>> bindings_;
};

}  // namespace sinter::command
