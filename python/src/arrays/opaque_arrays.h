// A Python function of an opaque call sees the operands, results and attributes.
#pragma once

#include <string>
#include <vector>

#include "casters.h"
#include "sinter/opaque.h"

namespace sinter::python {

/// Memory of one operand or result, valid during the call. Other libraries read it through DLPack.
struct OpaqueArrayObject {
  DType dtype;
  std::vector<std::int64_t> shape;
  void* data;
  bool is_host_device;
  int device;
};

/// A copy of an OpaqueCall, or of an OpaqueSizes, whose arrays have no memory.
struct OpaqueCallObject {
  explicit OpaqueCallObject(const OpaqueCall& call);
  explicit OpaqueCallObject(const OpaqueSizes& sizes);

  /// An array, or the number of a scalar.
  struct Item {
    OpaqueArrayObject array;
    bool is_number;
    Literal number;
  };
  std::string function;
  std::string place;
  std::vector<Item> inputs;
  std::vector<Item> outputs;
  std::vector<OpaqueAttribute> attributes;
  bool is_host_device;
  int device;
  void* stream = nullptr;
  void* workspace = nullptr;
  std::int64_t workspace_bytes = 0;
};

void bind_opaque_arrays(nb::module_& m);

}  // namespace sinter::python
