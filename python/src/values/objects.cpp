#include "values/objects.h"

#include <nanobind/stl/string_view.h>

#include <array>
#include <string>
#include <unordered_map>

#include "sinter/error.h"

namespace sinter::python {

namespace {

/// The graphs that Python holds, by their data. The GIL guards it.
std::unordered_map<const GraphData*, GraphObject*>& graphs() {
  static auto* const table = new std::unordered_map<const GraphData*, GraphObject*>();
  return *table;
}

struct Alias {
  std::string_view name;
  DType dtype;
};

/// Names of dtypes in NumPy, PyTorch, JAX and ml_dtypes.
constexpr Alias kAliases[] = {
    {"bool_", boolean},      {"boolean", boolean},        {"int8", i8},           {"int16", i16},
    {"int32", i32},          {"int64", i64},              {"uint8", u8},          {"uint16", u16},
    {"uint32", u32},         {"uint64", u64},             {"float16", f16},       {"half", f16},
    {"bfloat16", bf16},      {"float32", f32},            {"float64", f64},       {"double", f64},
    {"float8_e4m3fn", f8e4m3}, {"float8_e5m2", f8e5m2},   {"complex64", c64},
};

std::optional<DType> dtype_called(std::string_view name) {
  if (const std::size_t dot = name.rfind('.'); dot != std::string_view::npos) name.remove_prefix(dot + 1);
  for (const DTypeInfo& row : kDTypes)
    if (row.name == name) return row.dtype;
  for (const Alias& alias : kAliases)
    if (alias.name == name) return alias.dtype;
  return std::nullopt;
}

nb::object* operand_hook() {
  static auto* const hook = new nb::object();
  return hook;
}

/// The text of attribute `name`, if it has one that is a text.
nb::object text_attribute(nb::handle source, const char* name) noexcept {
  nb::object value = nb::steal(PyObject_GetAttrString(source.ptr(), name));
  if (!value.is_valid()) PyErr_Clear();
  if (value.is_valid() && !PyUnicode_Check(value.ptr())) return {};
  return value;
}

}  // namespace

GraphObject::GraphObject(std::string_view name) : Graph(name) { graphs()[&data()] = this; }
GraphObject::GraphObject(Graph graph) : Graph(std::move(graph)) { graphs()[&data()] = this; }
GraphObject::~GraphObject() { graphs().erase(&data()); }

nb::object graph_object(const GraphData* data) {
  const auto found = graphs().find(data);
  ensure(found != graphs().end(), "a Tensor of a graph that Python does not hold");
  return nb::find(found->second);
}

nb::object extent_object(Extent extent, const nb::object& graph) {
  if (extent.is_number()) return nb::int_(extent.number());
  return nb::cast(ExtentObject{extent, graph});
}

nb::tuple shape_tuple(std::span<const Extent> shape, const nb::object& graph) {
  nb::list items;
  for (const Extent extent : shape) items.append(extent_object(extent, graph));
  return nb::tuple(items);
}

nb::handle dtype_object(DType dtype) {
  // The objects live as long as the process.
  static auto* const objects = new std::array<nb::object, std::size(kDTypes)>();
  nb::object& object = (*objects)[static_cast<std::size_t>(dtype)];
  if (!object.is_valid()) object = nb::cast(DTypeObject{dtype});
  return object;
}

std::optional<DType> dtype_named(nb::handle source) noexcept {
  if (DTypeObject* object = nullptr; nb::try_cast(source, object) && object) return object->dtype;
  nb::object text;
  if (PyUnicode_Check(source.ptr())) text = nb::borrow(source);
  if (!text.is_valid()) text = text_attribute(source, "name");
  if (!text.is_valid()) text = text_attribute(source, "__name__");
  if (!text.is_valid()) text = nb::steal(PyObject_Str(source.ptr()));
  const char* const name = text.is_valid() ? PyUnicode_AsUTF8AndSize(text.ptr(), nullptr) : nullptr;
  if (!name) {
    PyErr_Clear();
    return std::nullopt;
  }
  return dtype_called(name);
}

std::vector<Size> sizes_of(const nb::dict& sizes) {
  std::vector<Size> result;
  for (const auto& [symbol, value] : sizes)
    result.push_back({nb::cast<std::string_view>(symbol), nb::cast<std::int64_t>(value)});
  return result;
}

void set_operand_hook(nb::object function) { *operand_hook() = std::move(function); }

nb::object hooked_operand(nb::handle source) noexcept {
  if (!operand_hook()->is_valid() || source.is_none()) return {};
  nb::object result = nb::steal(PyObject_CallFunctionObjArgs(operand_hook()->ptr(), source.ptr(), nullptr));
  if (!result.is_valid()) PyErr_Clear();
  return result;
}

std::optional<Literal> literal_of(nb::handle source) noexcept {
  PyObject* const object = source.ptr();
  if (PyBool_Check(object)) return Literal::of(object == Py_True);
  if (PyFloat_Check(object)) return Literal::of(PyFloat_AsDouble(object));
  if (!PyLong_Check(object)) {
    // Arrays of other libraries are numbers, too, if they have one element. They must not become
    // constants unnoticed.
    if (PyObject_HasAttrString(object, "__dlpack__")) return std::nullopt;
    if (!PyObject_HasAttrString(object, "__index__")) {
      if (!PyObject_HasAttrString(object, "__float__") || PyUnicode_Check(object)) return std::nullopt;
      const double real = PyFloat_AsDouble(object);
      if (PyErr_Occurred()) {
        PyErr_Clear();
        return std::nullopt;
      }
      // np.bool_ has __float__ in some versions.
      return Literal::of(real);
    }
  }
  const nb::object integer = nb::steal(PyNumber_Index(object));
  if (!integer.is_valid()) {
    PyErr_Clear();
    return std::nullopt;
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
  if (overflow == 0) return Literal::of(static_cast<std::int64_t>(value));
  const unsigned long long large = PyLong_AsUnsignedLongLong(integer.ptr());
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return std::nullopt;
  }
  return Literal::of(static_cast<std::uint64_t>(large));
}

}  // namespace sinter::python
