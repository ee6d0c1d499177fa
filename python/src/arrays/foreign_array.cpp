#include "arrays/foreign_array.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "arrays/dlpack_exchange.h"
#include "values/dlpack_code.h"
#include "values/location.h"
#include "sinter/dlpack.h"
#include "sinter/error.h"

namespace sinter::python {

using namespace nanobind::literals;

namespace {

constexpr const char* kVersionedCapsule = "dltensor_versioned";
constexpr const char* kCapsule = "dltensor";

[[noreturn]] void fail_no_array(nb::handle source) {
  fail_here(std::string(nb::str(source.type().attr("__name__")).c_str()) +
            " is no array: it has neither __dlpack__ nor __cuda_array_interface__; pass an array of NumPy, "
            "PyTorch, JAX, CuPy or sinter");
}

/// The exchange table of the type of `source`; null if it has none. Types live as long as the process
/// in practice: the cache keeps a reference to each.
const DlpackExchangeTable* exchange_table(nb::handle source) {
  static auto* const tables = new std::unordered_map<PyTypeObject*, const DlpackExchangeTable*>();
  PyTypeObject* const type = Py_TYPE(source.ptr());
  if (const auto found = tables->find(type); found != tables->end()) return found->second;
  const DlpackExchangeTable* table = nullptr;
  const nb::object capsule =
      nb::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__"));
  if (capsule.is_valid())
    table = static_cast<const DlpackExchangeTable*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  PyErr_Clear();
  while (table && table->version.major > dlpack::kVersion.major) table = table->previous;
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  tables->emplace(type, table);
  return table;
}

/// The number that names a CUDA stream in `__dlpack__(stream=…)`: 1 is the default stream.
nb::object protocol_stream(void* stream) {
  const auto number = reinterpret_cast<std::uintptr_t>(stream);
  return nb::int_(number == 0 ? 1 : number);
}

bool is_cpu(nb::handle source) {
  const nb::object place = source.attr("__dlpack_device__")();
  const int type = nb::cast<int>(nb::int_(place[0]));
  return type == static_cast<int>(dlpack::DeviceType::cpu) || type == static_cast<int>(dlpack::DeviceType::cuda_host);
}

/// The capsule of `source.__dlpack__`: versioned if the library knows versions.
nb::object capsule_of(nb::handle source, void* stream) {
  const nb::object export_function = source.attr("__dlpack__");
  const nb::object stream_argument = is_cpu(source) ? nb::none() : protocol_stream(stream);
  try {
    return export_function("stream"_a = stream_argument,
                           "max_version"_a = nb::make_tuple(dlpack::kVersion.major, dlpack::kVersion.minor));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return export_function("stream"_a = stream_argument);
}

Array array_of_capsule(nb::handle capsule, std::optional<Device> device) {
  // A capsule is used once; its name says whether it was.
  if (PyCapsule_IsValid(capsule.ptr(), kVersionedCapsule)) {
    auto* const tensor =
        static_cast<dlpack::ManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.ptr(), kVersionedCapsule));
    PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
    return from_dlpack(tensor, device);
  }
  if (PyCapsule_IsValid(capsule.ptr(), kCapsule)) {
    auto* const tensor = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kCapsule));
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");
    return from_dlpack(tensor, device);
  }
  fail_here("from_dlpack: the capsule holds no tensor, or was used before; export the array again");
}

/// Kept by an Array in the memory of a Python object: the object, and the lists that DLPack points to.
struct Owned {
  dlpack::ManagedTensorVersioned tensor = {};
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  PyObject* owner = nullptr;
};

void release(dlpack::ManagedTensorVersioned* tensor) {
  auto* const owned = static_cast<Owned*>(tensor->manager_ctx);
  if (Py_IsInitialized()) {  // otherwise the process ends, and the object has gone
    const nb::gil_scoped_acquire held;
    Py_DECREF(owned->owner);
  }
  delete owned;
}

/// The dtype code of DLPack for a type string of NumPy, such as `<f4`.
dlpack::DataType data_type(const std::string& text) {
  const std::string kinds = "iufcb";
  const std::uint8_t codes[] = {0, 1, 2, 5, 6};
  const std::size_t kind = text.size() > 2 ? kinds.find(text[1]) : std::string::npos;
  if (kind == std::string::npos || text[0] == '>')
    fail_here("__cuda_array_interface__: sinter cannot read the type " + text +
                    "; cast the array, or pass one with DLPack");
  return {codes[kind], static_cast<std::uint8_t>(8 * std::stoi(text.substr(2))), 1};
}

/// Waits for the stream that `__cuda_array_interface__` names, as version 3 of the protocol asks.
void wait_for_owner(const nb::dict& interface, const Device& device, void* stream) {
  if (!interface.contains("stream")) return;
  const nb::object named = interface["stream"];
  if (named.is_none()) return;
  const auto number = nb::cast<std::uintptr_t>(named);
  void* const handle = number == 1 ? nullptr : reinterpret_cast<void*>(number);
  if (handle == stream) return;
  const Event event = device.event();
  event.record(Stream::wrap(handle, device));
  Stream::wrap(stream, device).wait(event);
}

Array array_of_cuda_interface(nb::handle source, std::optional<Device> device, void* stream) {
  const nb::dict interface(source.attr("__cuda_array_interface__"));
  const Device gpu = device ? *device : cuda_device();
  auto owned = std::make_unique<Owned>();
  const dlpack::DataType type = data_type(nb::cast<std::string>(interface["typestr"]));
  for (nb::handle extent : nb::tuple(interface["shape"])) owned->shape.push_back(nb::cast<std::int64_t>(extent));
  const nb::object strides = interface.contains("strides") ? nb::object(interface["strides"]) : nb::none();
  if (!strides.is_none())
    for (nb::handle bytes : nb::tuple(strides)) owned->strides.push_back(nb::cast<std::int64_t>(bytes) / (type.bits / 8));
  const nb::tuple data(interface["data"]);
  dlpack::ManagedTensorVersioned& tensor = owned->tensor;
  tensor.version = dlpack::kVersion;
  tensor.manager_ctx = owned.get();
  tensor.deleter = release;
  tensor.flags = nb::cast<bool>(data[1]) ? dlpack::kReadOnly : 0;
  tensor.dl_tensor = {.data = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(data[0])),
                      .device = {dlpack::DeviceType::cuda, gpu.ordinal()},
                      .ndim = static_cast<std::int32_t>(owned->shape.size()),
                      .dtype = type,
                      .shape = owned->shape.data(),
                      .strides = strides.is_none() ? nullptr : owned->strides.data(),
                      .byte_offset = 0};
  wait_for_owner(interface, gpu, stream);
  owned->owner = source.inc_ref().ptr();
  return from_dlpack(&owned.release()->tensor, gpu);
}

/// The dtype of a type of DLPack; nullopt for those that need the checks of from_dlpack.
std::optional<DType> plain_dtype(dlpack::DataType type) {
  for (const DTypeInfo& row : kDTypes)
    if (row.size * 8 == type.bits && type.lanes == 1 && dlpack_code(row.dtype) == type.code) return row.dtype;
  return std::nullopt;
}

}  // namespace

Array array_of_object(nb::handle source, std::optional<Device> device, void* stream) {
  ArrayObject* object = nullptr;
  if (nb::try_cast(source, object) && object) return object->array;
  if (PyCapsule_CheckExact(source.ptr())) return array_of_capsule(source, device);
  if (PyObject_HasAttrString(source.ptr(), "__dlpack__")) return array_of_capsule(capsule_of(source, stream), device);
  if (PyObject_HasAttrString(source.ptr(), "__cuda_array_interface__"))
    return array_of_cuda_interface(source, device, stream);
  fail_no_array(source);
}

Array borrowed_array(nb::handle source, const Device& device, void* stream) {
  const DlpackExchangeTable* const table = exchange_table(source);
  if (!table || !table->tensor_of) return array_of_object(source, device, stream);
  // from_dlpack copies all but the deleter, which stays null: the caller keeps the memory. The GIL guards it.
  static dlpack::ManagedTensorVersioned borrowed = {.version = dlpack::kVersion};
  dlpack::Tensor& tensor = borrowed.dl_tensor;
  if (table->tensor_of(source.ptr(), &tensor) != 0) throw nb::python_error();
  const std::optional<DType> dtype = plain_dtype(tensor.dtype);
  // Memory that from_dlpack imports waits for the GPU when it is released; wrapped memory does not.
  if (dtype && !device.is_host() && tensor.device.type == dlpack::DeviceType::cuda &&
      tensor.device.id == device.ordinal()) {
    const auto rank = static_cast<std::size_t>(tensor.ndim);
    const Sizes strides = tensor.strides ? Sizes(std::span<const std::int64_t>(tensor.strides, rank)) : Sizes();
    return Array::wrap(static_cast<char*>(tensor.data) + tensor.byte_offset, *dtype,
                       std::span<const std::int64_t>(tensor.shape, rank), device, strides);
  }
  return from_dlpack(&borrowed, device);
}

}  // namespace sinter::python
