// Named tuples for results of several Tensors.
#pragma once

#include "values/casters.h"

namespace sinter::python {

/// Adds collections.namedtuple(name, fields) to `m`.
void define_named_tuple(nb::module_& m, const char* name, const char* fields, const char* doc);
/// The type that define_named_tuple made.
nb::handle named_tuple_type(const char* name);

template <class... Tensors>
nb::handle named_tuple(const char* name, const Tensors&... tensors) noexcept {
  try {
    return named_tuple_type(name)(nb::cast(tensors)...).release();
  } catch (nb::python_error& error) {
    error.restore();
    return {};
  }
}

}  // namespace sinter::python
