// Tensor and its operators.
#include "values/bind.h"
#include "values/casters.h"

#include "sinter/error.h"
#include "sinter/library_ops.h"

namespace sinter::python {

using namespace nanobind::literals;

namespace {

using Binary = Tensor (*)(Operand, Operand);

/// An operator with a Tensor on the left. Python tries the other operand if it is no number.
template <Binary op, bool swapped = false>
nb::object binary(nb::handle_t<TensorObject> self, nb::object other) {
  // Such an object decides the dtype from its peer, in its own operator.
  if (PyObject_HasAttrString(other.ptr(), "__sinter_weak__")) return nb::borrow(Py_NotImplemented);
  nb::detail::make_caster<Operand> left;
  nb::detail::make_caster<Operand> right;
  if (!left.from_python(self, 0, nullptr) || !right.from_python(other, 0, nullptr))
    return nb::borrow(Py_NotImplemented);
  return nb::cast(swapped ? op(*right.value, *left.value) : op(*left.value, *right.value));
}

Tensor product(Operand a, Operand b) { return matmul(a, b); }

/// The error for uses of a Tensor as a number: `if x > 0`, float(x), …
[[noreturn]] void fail_value(const TensorObject& self, const char* use) {
  fail_here(std::string(use) + " needs the value of a recorded Tensor " + std::string(name(self.tensor.dtype())) +
            to_string(self.tensor.shape()) +
            ", which only a run computes; choose between values with sinter.where(condition, a, b)");
}

}  // namespace

void bind_tensor(nb::module_& m) {
  nb::class_<TensorObject> tensor(
      m, "Tensor", nb::dynamic_attr(),
      "A recorded value: the result of an op in a Graph. It holds no data. Operators record elementwise ops.");
  tensor.def_prop_ro("dtype", [](const TensorObject& self) { return self.tensor.dtype(); })
      .def_prop_ro("shape", [](const TensorObject& self) { return shape_tuple(self.tensor.shape(), self.graph); },
                   "A tuple of ints and Extents.")
      .def_prop_ro("rank", [](const TensorObject& self) { return self.tensor.rank(); })
      .def_prop_ro("ndim", [](const TensorObject& self) { return self.tensor.rank(); })
      .def_prop_ro("graph", [](const TensorObject& self) { return self.graph; })
      .def("label", [](const TensorObject& self, std::string_view name) { return self.tensor.label(name); }, "name"_a,
           "Names the value in dumps and emitted source, and returns it.")
      .def("__repr__", [](const TensorObject& self) {
        return "<sinter.Tensor " + std::string(name(self.tensor.dtype())) + to_string(self.tensor.shape()) + ">";
      });
  tensor.def("__add__", &binary<add>)
      .def("__radd__", &binary<add, true>)
      .def("__sub__", &binary<sub>)
      .def("__rsub__", &binary<sub, true>)
      .def("__mul__", &binary<mul>)
      .def("__rmul__", &binary<mul, true>)
      .def("__truediv__", &binary<div>)
      .def("__rtruediv__", &binary<div, true>)
      .def("__floordiv__", &binary<floordiv>)
      .def("__rfloordiv__", &binary<floordiv, true>)
      .def("__mod__", &binary<remainder>)
      .def("__rmod__", &binary<remainder, true>)
      .def("__pow__", &binary<pow>)
      .def("__rpow__", &binary<pow, true>)
      .def("__matmul__", &binary<product>)
      .def("__rmatmul__", &binary<product, true>)
      .def("__lshift__", &binary<left_shift>)
      .def("__rlshift__", &binary<left_shift, true>)
      .def("__rshift__", &binary<right_shift>)
      .def("__rrshift__", &binary<right_shift, true>)
      .def("__and__", &binary<bitwise_and>)
      .def("__rand__", &binary<bitwise_and, true>)
      .def("__or__", &binary<bitwise_or>)
      .def("__ror__", &binary<bitwise_or, true>)
      .def("__xor__", &binary<bitwise_xor>)
      .def("__rxor__", &binary<bitwise_xor, true>)
      .def("__eq__", &binary<eq>)
      .def("__ne__", &binary<ne>)
      .def("__lt__", &binary<lt>)
      .def("__le__", &binary<le>)
      .def("__gt__", &binary<gt>)
      .def("__ge__", &binary<ge>)
      .def("__neg__", [](Operand self) { return neg(self); })
      .def("__pos__", [](nb::handle_t<TensorObject> self) { return nb::borrow(self); })
      .def("__abs__", [](Operand self) { return abs(self); })
      .def("__invert__", [](Operand self) { return bitwise_not(self); })
      .def("__hash__", [](const TensorObject& self) { return std::hash<const void*>()(self.tensor.node()); })
      .def("__bool__", [](const TensorObject& self) -> bool { fail_value(self, "a condition"); })
      .def("__int__", [](const TensorObject& self) -> int { fail_value(self, "int()"); })
      .def("__index__", [](const TensorObject& self) -> int { fail_value(self, "an index"); })
      .def("__float__", [](const TensorObject& self) -> double { fail_value(self, "float()"); });
  // NumPy arrays must not take a Tensor as an object of their elements.
  tensor.attr("__array_ufunc__") = nb::none();
  tensor.attr("__array_priority__") = 1000;
}

}  // namespace sinter::python
