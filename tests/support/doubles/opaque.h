// Functions for opaque calls, as tests register them.
#pragma once

#include <string>
#include <vector>

#include "sinter/opaque.h"

namespace sinter::test {

/// A function that is registered for as long as this lives; one without `enqueue` does nothing.
class Registered {
 public:
  Registered(std::string name, OpaqueFunction function);
  ~Registered();
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

 private:
  std::string name_;
};

/// The elements of one array of a call on the host device, by number, whatever their dtype.
class HostElements {
 public:
  explicit HostElements(const OpaqueArray& array)
      : dtype_(array.dtype), data_(static_cast<std::byte*>(array.data)) {}

  double get(std::int64_t i) const;
  /// Rounds to the dtype, or wraps.
  void set(std::int64_t i, double value) const;

 private:
  DType dtype_;
  std::byte* data_;
};

/// y[m, n] = alpha · x[m, k] w[k, n]: sums of products in f64 in the order of k, rounded once.
/// alpha is a third operand, a run-time scalar, or else an attribute, or 1. Host device alone.
OpaqueFunction gemm();

/// y = x reversed, by way of the workspace, and its sum, which not everybody needs.
/// Host device alone.
OpaqueFunction reversed();

}  // namespace sinter::test
