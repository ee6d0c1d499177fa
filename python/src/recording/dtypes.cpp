#include "values/bind.h"
#include "values/casters.h"

#include "sinter/error.h"

namespace sinter::python {

using namespace nanobind::literals;

namespace {

DType required_dtype(nb::handle source) {
  if (const std::optional<DType> dtype = dtype_named(source)) return *dtype;
  std::string names;
  for (const DTypeInfo& row : kDTypes) names += (names.empty() ? "" : ", ") + std::string(row.name);
  fail_here("dtype: sinter has no dtype " + std::string(nb::repr(source).c_str()) + "; its dtypes are " + names);
}

}  // namespace

void bind_dtypes(nb::module_& m) {
  nb::class_<DTypeObject>(m, "DType", "The type of one element. There is one object per dtype, such as sinter.f32.")
      .def_prop_ro("name", [](const DTypeObject& self) { return name(self.dtype); }, "The name in the text form.")
      .def_prop_ro("size", [](const DTypeObject& self) { return size_of(self.dtype); }, "The bytes of one element.")
      .def_prop_ro("is_floating", [](const DTypeObject& self) { return is_floating(self.dtype); })
      .def_prop_ro("is_integer", [](const DTypeObject& self) { return is_integer(self.dtype); })
      .def_prop_ro("is_signed", [](const DTypeObject& self) { return is_signed(self.dtype); })
      .def_prop_ro("compute", [](const DTypeObject& self) { return info(self.dtype).compute; },
                   "The dtype in which ops compute before they round.")
      .def("__repr__", [](const DTypeObject& self) { return "sinter." + std::string(self.dtype == boolean ? "boolean" : name(self.dtype)); })
      // The name of the object in this module.
      .def("__reduce__", [](const DTypeObject& self) { return self.dtype == boolean ? "boolean" : name(self.dtype); });
  m.def("dtype", [](nb::object source) { return required_dtype(source); }, "source"_a,
        "The dtype that `source` names: a text, or a dtype of NumPy, PyTorch or JAX. Raises UserError if sinter has none.");
  for (const DTypeInfo& row : kDTypes)
    m.attr(row.dtype == boolean ? "boolean" : std::string(row.name).c_str()) = nb::borrow(dtype_object(row.dtype));
  m.def("common_dtype", [](DType a, DType b) { return common_dtype(a, b); }, "a"_a, "b"_a,
        "The common dtype of operands with dtypes `a` and `b`; None if there is none.");
}

}  // namespace sinter::python
