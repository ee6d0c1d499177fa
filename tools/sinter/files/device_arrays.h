// Arrays of files on a device, and the bindings of them.
#pragma once

#include "ir/shape/host_array.h"
#include "sinter/sinter.h"

#include <list>
#include <string>
#include <vector>

namespace sinter::command {

/// Arrays on a device with the strides that a graph declares, and numbers. Its bindings refer to
/// it.
class DeviceArrays {
 public:
  /// Uploads are ordered in `stream`.
  explicit DeviceArrays(const Stream& stream) : stream_(stream) {}

  /// Uploads `values` for the input `name` of `graph`. Throws UserError if a scalar gets several
  /// elements, or none, and if declared strides do not follow from the shape.
  void add(const Graph& graph, const std::string& name, const HostArray& values);
  /// Takes `arrays`, so that each is in host memory only until it is on the device.
  void add_all(const Graph& graph, HostArrays arrays);
  const std::vector<Binding>& bindings() const { return bindings_; }

 private:
  Stream stream_;
  std::list<std::string> names_;
  std::list<Array> arrays_;
  std::vector<Binding> bindings_;
};

/// A copy in host memory of a row-major array that work on `stream` writes.
HostArray downloaded(const Array& array, const Stream& stream);

}  // namespace sinter::command
