// Functions that tests register for opaque calls.
#pragma once

#include <string>
#include <vector>

#include "sinter/opaque.h"

namespace sinter::test {

/// Registers a function while the object exists. A function without `enqueue` does nothing.
class Registered {
 public:
  Registered(std::string name, OpaqueFunction function);
  ~Registered();
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

 private:
  std::string name_;
};

/// The elements of one array of a call on the host device, by index, as doubles.
class HostElements {
 public:
  explicit HostElements(const OpaqueArray& array)
      : dtype_(array.dtype), data_(static_cast<std::byte*>(array.data)) {}

  double get(std::int64_t i) const;
  /// Rounds `value` to a floating dtype, or wraps it to an integer dtype.
  void set(std::int64_t i, double value) const;

 private:
  DType dtype_;
  std::byte* data_;
};

/// y[m, n] = alpha · x[m, k] w[k, n]. Sums products in f64 in the order of k and rounds once. alpha
/// is a third operand (a run-time scalar), an attribute, or 1. Host device only.
OpaqueFunction gemm();

/// y is x reversed, copied through the workspace. The second result, the sum of x, is optional.
/// Host device only.
OpaqueFunction reversed();

}  // namespace sinter::test
