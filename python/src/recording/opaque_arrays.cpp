#include "recording/opaque_arrays.h"

#include "sinter/dlpack.h"
#include "values/dlpack_code.h"

namespace sinter::python {

using namespace nanobind::literals;

namespace {

/// Owned by the DLPack tensor of a call's array: its lists of extents and strides.
struct Lists {
  dlpack::ManagedTensorVersioned tensor = {};
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

/// A capsule of the array. Unlike that of an Array, it waits for no work: the call has ordered it.
nb::object capsule_of(const OpaqueArrayObject& self) {
  if (!self.data) fail_here("the function of an opaque call that asks for workspace gets arrays without memory; use their shapes");
  auto* const lists = new Lists{.shape = self.shape, .strides = std::vector<std::int64_t>(self.shape.size(), 1)};
  for (std::size_t i = self.shape.size(); i-- > 1;) lists->strides[i - 1] = lists->strides[i] * self.shape[i];
  lists->tensor = {.version = dlpack::kVersion,
                   .manager_ctx = lists,
                   .deleter = [](dlpack::ManagedTensorVersioned* tensor) { delete static_cast<Lists*>(tensor->manager_ctx); },
                   .flags = 0,
                   .dl_tensor = {.data = self.data,
                                 .device = {self.is_host_device ? dlpack::DeviceType::cpu : dlpack::DeviceType::cuda, self.device},
                                 .ndim = static_cast<std::int32_t>(self.shape.size()),
                                 .dtype = {dlpack_code(self.dtype), static_cast<std::uint8_t>(8 * size_of(self.dtype)), 1},
                                 .shape = lists->shape.data(),
                                 .strides = lists->strides.data(),
                                 .byte_offset = 0}};
  if (self.is_host_device) lists->tensor.dl_tensor.device.id = 0;
  return nb::steal(PyCapsule_New(&lists->tensor, "dltensor_versioned", [](PyObject* capsule) {
    if (!PyCapsule_IsValid(capsule, "dltensor_versioned")) return;
    auto* const tensor = static_cast<dlpack::ManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    tensor->deleter(tensor);
  }));
}

nb::object number_object(const Literal& number) {
  switch (number.kind) {
    case Literal::Kind::boolean: return nb::bool_(number.integer != 0);
    case Literal::Kind::integer: return nb::int_(number.integer);
    case Literal::Kind::large_integer: return nb::int_(static_cast<std::uint64_t>(number.integer));
    case Literal::Kind::real: break;
  }
  return nb::float_(number.real);
}

nb::list objects(const std::vector<OpaqueCallObject::Item>& items) {
  nb::list result;
  for (const OpaqueCallObject::Item& item : items)
    result.append(item.is_number ? number_object(item.number) : nb::cast(item.array));
  return result;
}

nb::dict attribute_dict(const OpaqueCallObject& self) {
  nb::dict result;
  for (const OpaqueAttribute& attribute : self.attributes) {
    const nb::str name(attribute.name.c_str());
    switch (attribute.kind) {
      case OpaqueAttribute::Kind::number: result[name] = number_object(attribute.number); break;
      case OpaqueAttribute::Kind::text: result[name] = attribute.text; break;
      case OpaqueAttribute::Kind::integers: result[name] = attribute.integers; break;
    }
  }
  return result;
}

std::vector<OpaqueCallObject::Item> items_of(std::span<const OpaqueArray> arrays, const OpaqueSizes& sizes) {
  std::vector<OpaqueCallObject::Item> items;
  for (const OpaqueArray& array : arrays)
    items.push_back({{array.dtype, {array.shape.begin(), array.shape.end()}, array.data, sizes.is_host_device, sizes.device},
                     array.is_number,
                     array.number});
  return items;
}

}  // namespace

OpaqueCallObject::OpaqueCallObject(const OpaqueSizes& sizes)
    : function(sizes.function),
      place(sizes.place),
      inputs(items_of(sizes.inputs, sizes)),
      outputs(items_of(sizes.outputs, sizes)),
      attributes(sizes.attributes.begin(), sizes.attributes.end()),
      is_host_device(sizes.is_host_device),
      device(sizes.device) {}

OpaqueCallObject::OpaqueCallObject(const OpaqueCall& call) : OpaqueCallObject(static_cast<const OpaqueSizes&>(call)) {
  stream = call.stream;
  workspace = call.workspace;
  workspace_bytes = call.workspace_bytes;
}

void bind_opaque_arrays(nb::module_& m) {
  nb::class_<OpaqueArrayObject>(m, "OpaqueArray", "An operand or result of one opaque call: row-major, for DLPack, valid during the call.")
      .def_ro("dtype", &OpaqueArrayObject::dtype)
      .def_prop_ro("shape", [](const OpaqueArrayObject& self) { return nb::tuple(nb::cast(self.shape)); })
      .def_prop_ro("pointer", [](const OpaqueArrayObject& self) { return reinterpret_cast<std::uintptr_t>(self.data); })
      .def("__dlpack__", [](const OpaqueArrayObject& self, nb::kwargs) { return capsule_of(self); }, "keywords"_a)
      .def("__dlpack_device__", [](const OpaqueArrayObject& self) {
        return self.is_host_device ? nb::make_tuple(1, 0) : nb::make_tuple(2, self.device);
      });
  nb::class_<OpaqueCallObject>(m, "OpaqueCall", "One opaque call, as its function sees it.")
      .def_ro("function", &OpaqueCallObject::function)
      .def_ro("place", &OpaqueCallObject::place, "The location in the user's source that recorded the call.")
      .def_prop_ro("inputs", [](const OpaqueCallObject& self) { return objects(self.inputs); },
                   "The operands: OpaqueArrays, and numbers for scalars.")
      .def_prop_ro("outputs", [](const OpaqueCallObject& self) { return objects(self.outputs); })
      .def_prop_ro("attributes", &attribute_dict)
      .def_ro("is_host_device", &OpaqueCallObject::is_host_device)
      .def_ro("device", &OpaqueCallObject::device, "The index of the device among those of its kind.")
      .def_prop_ro("stream", [](const OpaqueCallObject& self) { return reinterpret_cast<std::uintptr_t>(self.stream); },
                   "The CUstream on which a GPU's work belongs.")
      .def_prop_ro("workspace", [](const OpaqueCallObject& self) {
        return nb::make_tuple(reinterpret_cast<std::uintptr_t>(self.workspace), self.workspace_bytes);
      }, "The address and the bytes of the call's own memory.");
}

}  // namespace sinter::python
