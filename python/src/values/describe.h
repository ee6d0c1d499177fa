// Text forms of structs for Python's repr.
#pragma once

#include <nanobind/nanobind.h>

#include <initializer_list>

namespace sinter::python {

/// `KernelReport(name='softmax_0', launches=1, …)`: the fields that are not empty, shortened.
nanobind::str describe(nanobind::handle object, std::initializer_list<const char*> fields);

}  // namespace sinter::python
