// Graph and Extent.
#include "values/bind.h"
#include "values/casters.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>

#include "sinter/error.h"
#include "sinter/gradient.h"
#include "sinter/text.h"

namespace sinter::python {

using namespace nanobind::literals;

namespace {

/// The graph of an operation on two extents. Throws UserError if they are of different graphs.
nb::object common_graph(const ExtentObject& a, nb::handle b) {
  ExtentObject* other = nullptr;
  if (nb::try_cast(b, other) && other && !other->graph.is(a.graph)) {
    const Location place = current_location();
    throw UserError("extents " + to_string(a.extent) + " and " + to_string(other->extent) +
                    " are of different graphs (" + place.file + ":" + std::to_string(place.line) +
                    "); use extents of one graph");
  }
  return a.graph;
}

using Combine = Extent (*)(Extent, Extent);

template <Combine combine, bool swapped = false>
nb::object combined(const ExtentObject& self, nb::object other) {
  Extent second;
  if (!to_extent(other, second)) return nb::borrow(Py_NotImplemented);
  const nb::object graph = common_graph(self, other);
  return extent_object(swapped ? combine(second, self.extent) : combine(self.extent, second), graph);
}

Extent plus(Extent a, Extent b) { return a + b; }
Extent minus(Extent a, Extent b) { return a - b; }
Extent times(Extent a, Extent b) { return a * b; }
Extent quotient(Extent a, Extent b) { return floor_div(a, b); }

void bind_extent(nb::module_& m) {
  nb::class_<ExtentObject>(m, "Extent",
                           "The size along one axis, as an expression over symbols such as `rows * 16`. Numbers are ints.")
      .def("__add__", &combined<plus>)
      .def("__radd__", &combined<plus>)
      .def("__sub__", &combined<minus>)
      .def("__rsub__", &combined<minus, true>)
      .def("__mul__", &combined<times>)
      .def("__rmul__", &combined<times>)
      .def("__floordiv__", &combined<quotient>)
      .def("__rfloordiv__", &combined<quotient, true>)
      .def("__eq__", [](const ExtentObject& self, nb::object other) {
        Extent second;
        return to_extent(other, second) && second == self.extent;
      })
      .def("__hash__", [](const ExtentObject& self) { return std::hash<const void*>()(self.extent.expression()); })
      .def("__repr__", [](const ExtentObject& self) { return to_string(self.extent); })
      .def("evaluate",
           [](const ExtentObject& self, nb::dict sizes) { return extent_value(self.extent, sizes_of(sizes)); }, "sizes"_a,
           "The number that it is for these sizes of symbols. Raises UserError if one is missing.")
      .def_prop_ro("graph", [](const ExtentObject& self) { return self.graph; });
}

std::vector<Tensor> gradients(Tensor output, const std::vector<Tensor>& inputs, std::optional<Tensor> cotangent) {
  const Location location = current_location();
  return gradient(output, inputs, cotangent, location.file, location.line);
}

}  // namespace

void bind_graph(nb::module_& m) {
  bind_extent(m);
  nb::class_<RankGroup>(m, "RankGroup", "A named set of ranks, numbered from 0, for collectives.")
      .def("__init__", [](RankGroup* self, std::string name, int size) { new (self) RankGroup{std::move(name), size}; },
           "name"_a, "size"_a)
      .def_ro("name", &RankGroup::name)
      .def_ro("size", &RankGroup::size);
  nb::class_<GraphObject>(m, "Graph", nb::dynamic_attr(),
                          "A recorded computation. Only one thread at a time may record into it.")
      .def(nb::init<std::string_view>(), "name"_a)
      .def_prop_ro("name", [](const GraphObject& self) { return self.name(); })
      .def("extent", [](nb::handle_t<GraphObject> self, std::string_view name) {
             return extent_object(nb::cast<GraphObject&>(self).extent(name), nb::borrow(self));
           },
           "name"_a, "The symbol `name`: an extent that can be any size >= 0 at run time.")
      .def("input",
           [](GraphObject& self, std::string_view name, DType dtype, Extents shape, std::optional<std::vector<Extent>> strides,
              std::optional<double> low, std::optional<double> high) {
             const Location place = current_location();
             InputOptions options{.low = low, .high = high};
             if (strides) options.strides = *std::move(strides);
             return self.input(name, dtype, shape, options, place.file, place.line);
           },
           "name"_a, "dtype"_a, "shape"_a, nb::kw_only(), "strides"_a.none() = nb::none(), "low"_a.none() = nb::none(),
           "high"_a.none() = nb::none(),
           "Declares an array that the program reads. `strides` are in elements, one per axis; without them it is "
           "row-major. `low` and `high` limit random numbers for it in checks. Raises UserError if the name is empty or "
           "taken, or if shape or strides are invalid.")
      .def("scalar",
           [](GraphObject& self, std::string_view name, DType dtype) {
             const Location place = current_location();
             return self.scalar(name, dtype, place.file, place.line);
           },
           "name"_a, "dtype"_a, "Declares a number that may differ from call to call. Its Tensor has rank 0.")
      .def("output",
           [](GraphObject& self, std::string_view name, Operand value, std::optional<std::vector<Extent>> strides) {
             OutputOptions options;
             if (strides) options.strides = *std::move(strides);
             self.output(name, value, options);
           },
           "name"_a, "value"_a, nb::kw_only(), "strides"_a.none() = nb::none(),
           "Makes `value` an output called `name`. `strides` are in elements. Raises UserError if the name is empty or taken.")
      .def("update", [](GraphObject& self, Operand parameter, Operand value) { self.update(parameter, value); },
           "parameter"_a, "value"_a,
           "Writes `value` into the input `parameter` after all reads of its old value. Raises UserError if it is not an "
           "input array, has another type than `value`, or already has an update.")
      .def("__str__", [](const GraphObject& self) { return print(self); }, "The text form.")
      .def("__repr__", [](const GraphObject& self) { return "<sinter.Graph " + std::string(self.name()) + ">"; });
  m.def("parse",
        [](std::string_view text, std::string_view file_name) { return new GraphObject(parse(text, file_name)); },
        "text"_a, "file_name"_a = "text", nb::rv_policy::take_ownership,
        "The graph of a text form. Raises one UserError that lists every mistake in the text.");
  m.def("gradient", &gradients, "output"_a, "inputs"_a, "cotangent"_a.none() = nb::none(),
        "Records Σ cotangent · ∂output/∂input for each of `inputs`, in the shape and dtype of the input. `cotangent` may "
        "be omitted if `output` has rank 0. Raises UserError if an op between the inputs and the output has no gradient.");
  m.def("_set_package_folder", &set_package_folder, "folder"_a);
  m.def("_replace_location", [](std::string_view file, int line) {
    const Location previous = replace_location(file, line);
    return std::pair<std::string, int>(previous.file, previous.line);
  }, "file"_a, "line"_a);
  m.def("_set_operand_hook", &set_operand_hook, "function"_a);
  m.def("_current_location", [] {
    const Location place = current_location();
    return std::pair<std::string, int>(place.file, place.line);
  });
}

}  // namespace sinter::python
