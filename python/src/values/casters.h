// How nanobind converts the parameter types of recording functions.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string_view>
#include <vector>

#include "values/location.h"
#include "values/objects.h"
#include "sinter/collectives.h"
#include "sinter/executable.h"
#include "sinter/nn.h"
#include "sinter/ops.h"
#include "sinter/options.h"
#include "sinter/quantization.h"
#include "sinter/views.h"

namespace sinter::python {

/// The items of a Python sequence, each converted by `item`, or of one object that is no sequence.
/// Returns false if an item cannot be converted.
template <class Item, class Convert>
bool items_of(nb::handle source, std::vector<Item>& items, Convert item) noexcept {
  items.clear();
  if (Item single; item(source, single)) {
    items.push_back(single);
    return true;
  }
  PyErr_Clear();
  if (PyUnicode_Check(source.ptr())) return false;
  const nb::object sequence = nb::steal(PySequence_Tuple(source.ptr()));
  if (!sequence.is_valid()) {
    PyErr_Clear();
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_Size(sequence.ptr()); ++i) {
    Item value;
    if (!item(nb::handle(PyTuple_GetItem(sequence.ptr(), i)), value)) return false;
    items.push_back(value);
  }
  return true;
}

/// True if `source` is an integer that fits in 64 bits.
inline bool to_integer(nb::handle source, std::int64_t& value) noexcept {
  if (PyFloat_Check(source.ptr())) return false;
  const std::optional<Literal> literal = literal_of(source);
  if (!literal || literal->kind != Literal::Kind::integer) return false;
  value = literal->integer;
  return true;
}

inline bool to_extent(nb::handle source, Extent& value) noexcept {
  if (std::int64_t number = 0; to_integer(source, number)) {
    value = number;
    return true;
  }
  ExtentObject* object = nullptr;
  if (!nb::try_cast(source, object) || !object) return false;
  value = object->extent;
  return true;
}

}  // namespace sinter::python

namespace nanobind::detail {

/// A text as a template argument.
template <std::size_t count>
struct FixedString {
  constexpr FixedString(const char (&from)[count]) {  // NOLINT: implicit on purpose
    for (std::size_t i = 0; i < count; ++i) text[i] = from[i];
  }
  char text[count] = {};
};

template <>
struct type_caster<sinter::Tensor> {
  NB_TYPE_CASTER(sinter::Tensor, make_caster<sinter::python::TensorObject>::Name)

  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    sinter::python::TensorObject* object = nullptr;
    if (!nanobind::try_cast(source, object) || !object) return false;
    value = object->tensor;
    return true;
  }
  static handle from_cpp(const sinter::Tensor& tensor, rv_policy, cleanup_list* list) noexcept {
    if (!tensor.node()) return none().release();
    return make_caster<sinter::python::TensorObject>::from_cpp(
        sinter::python::TensorObject{tensor, sinter::python::graph_object(tensor.graph())},
        rv_policy::move, list);
  }
};

template <>
struct type_caster<sinter::Operand> {
  static constexpr auto Name = make_caster<sinter::python::TensorObject>::Name + const_name(" | float");
  template <typename T>
  using Cast = movable_cast_t<T>;
  template <typename T>
  static constexpr bool can_cast() {
    return true;
  }
  explicit operator sinter::Operand&() { return *value; }
  explicit operator sinter::Operand&&() { return std::move(*value); }
  explicit operator sinter::Operand*() { return &*value; }

  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    const sinter::Location location = sinter::python::current_location();
    sinter::python::TensorObject* object = nullptr;
    if (nanobind::try_cast(source, object) && object) {
      value.emplace(object->tensor, location.file, location.line);
      return true;
    }
    const std::optional<sinter::Literal> literal = sinter::python::literal_of(source);
    if (literal) value.emplace(*literal, location);
    return literal.has_value() || from_hook(source, location);
  }
  /// Asks the hook about objects that are neither Tensors nor numbers.
  bool from_hook(handle source, sinter::Location location) noexcept {
    const nanobind::object replaced = sinter::python::hooked_operand(source);
    sinter::python::TensorObject* object = nullptr;
    if (replaced.is_valid() && nanobind::try_cast(handle(replaced), object) && object)
      value.emplace(object->tensor, location.file, location.line);
    else if (const auto literal = replaced.is_valid() ? sinter::python::literal_of(replaced) : std::nullopt)
      value.emplace(*literal, location);
    return value.has_value();
  }
  std::optional<sinter::Operand> value;
};

template <>
struct type_caster<sinter::Literal> {
  NB_TYPE_CASTER(sinter::Literal, const_name("float"))
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    const std::optional<sinter::Literal> literal = sinter::python::literal_of(source);
    if (literal) value = *literal;
    return literal.has_value();
  }
};

template <>
struct type_caster<sinter::Extent> {
  NB_TYPE_CASTER(sinter::Extent, const_name("int | ") + make_caster<sinter::python::ExtentObject>::Name)
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    return sinter::python::to_extent(source, value);
  }
};

/// A list parameter that refers to items in the caster.
template <class List, class Item>
struct list_caster_of {
  template <typename T>
  using Cast = List;
  template <typename T>
  static constexpr bool can_cast() {
    return true;
  }
  explicit operator List() { return List(std::span<const Item>(items)); }
  std::vector<Item> items;
};

template <>
struct type_caster<sinter::Extents> : list_caster_of<sinter::Extents, sinter::Extent> {
  static constexpr auto Name = const_name("int | ") + make_caster<sinter::python::ExtentObject>::Name +
                               const_name(" | collections.abc.Sequence[int | ") +
                               make_caster<sinter::python::ExtentObject>::Name + const_name("]");
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    return sinter::python::items_of(source, items, sinter::python::to_extent);
  }
};

template <>
struct type_caster<sinter::Axes> : list_caster_of<sinter::Axes, std::int64_t> {
  static constexpr auto Name = const_name("int | collections.abc.Sequence[int] | None");
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    if (source.is_none()) return true;
    return sinter::python::items_of(source, items, sinter::python::to_integer);
  }
};

template <>
struct type_caster<std::span<const sinter::Operand>>
    : list_caster_of<std::span<const sinter::Operand>, sinter::Operand> {
  static constexpr auto Name =
      const_name("collections.abc.Sequence[") + make_caster<sinter::Operand>::Name + const_name("]");
  bool from_python(handle source, uint32_t, cleanup_list* list) noexcept {
    const object sequence = steal(PySequence_Tuple(source.ptr()));
    if (!sequence.is_valid()) {
      PyErr_Clear();
      return false;
    }
    for (Py_ssize_t i = 0; i < PyTuple_Size(sequence.ptr()); ++i) {
      make_caster<sinter::Operand> item;
      if (!item.from_python(handle(PyTuple_GetItem(sequence.ptr(), i)), 0, list)) return false;
      items.push_back(*item.value);
    }
    return true;
  }
};

template <>
struct type_caster<sinter::Keep> {
  NB_TYPE_CASTER(sinter::Keep, const_name("bool"))
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    if (!PyBool_Check(source.ptr())) return false;
    value = source.ptr() == Py_True ? sinter::Keep::yes : sinter::Keep::no;
    return true;
  }
};

template <>
struct type_caster<sinter::DType> {
  NB_TYPE_CASTER(sinter::DType, make_caster<sinter::python::DTypeObject>::Name + const_name(" | str"))
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    if (source.is_none()) return false;
    const std::optional<sinter::DType> dtype = sinter::python::dtype_named(source);
    if (dtype) value = *dtype;
    return dtype.has_value();
  }
  static handle from_cpp(sinter::DType dtype, rv_policy, cleanup_list*) noexcept {
    return sinter::python::dtype_object(dtype).inc_ref();
  }
};

/// Enumerations are texts in Python: the names of their values, in order.
template <class Enum, FixedString... names>
struct enum_caster {
  NB_TYPE_CASTER(Enum, const_name("str"))
  static constexpr const char* kNames[] = {names.text...};

  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    if (!PyUnicode_Check(source.ptr())) return false;
    for (std::size_t i = 0; i < sizeof...(names); ++i) {
      if (PyUnicode_CompareWithASCIIString(source.ptr(), kNames[i]) != 0) continue;
      value = static_cast<Enum>(i);
      return true;
    }
    return false;
  }
  static handle from_cpp(Enum value, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_FromString(kNames[static_cast<std::size_t>(value)]);
  }
};

// clang-format off
template <> struct type_caster<sinter::Reduction> : enum_caster<sinter::Reduction, "none", "sum", "mean"> {};
template <> struct type_caster<sinter::Border> : enum_caster<sinter::Border, "zeros", "nearest"> {};
template <> struct type_caster<sinter::RankReduction> : enum_caster<sinter::RankReduction, "sum", "prod", "max", "min", "mean"> {};
template <> struct type_caster<sinter::Reduce> : enum_caster<sinter::Reduce, "ordered", "fast"> {};
template <> struct type_caster<sinter::Tune> : enum_caster<sinter::Tune, "off", "quick", "wide"> {};
template <> struct type_caster<sinter::CacheMode> : enum_caster<sinter::CacheMode, "off", "read_only", "read_write"> {};
template <> struct type_caster<sinter::Rounding> : enum_caster<sinter::Rounding, "as_recorded", "wide"> {};
template <> struct type_caster<sinter::Math> : enum_caster<sinter::Math, "accurate", "fast"> {};
template <> struct type_caster<sinter::Views> : enum_caster<sinter::Views, "returned", "written"> {};
template <> struct type_caster<sinter::RangeMethod> : enum_caster<sinter::RangeMethod, "min_max", "percentile"> {};
// clang-format on

}  // namespace nanobind::detail
