// Array, and its protocols: DLPack, __cuda_array_interface__, NumPy.
#include "values/bind.h"
#include "values/casters.h"
#include "arrays/foreign_array.h"
#include "arrays/stream_of.h"

#include "sinter/dlpack.h"
#include "sinter/error.h"

namespace sinter::python {

using namespace nanobind::literals;

namespace {

nb::tuple tuple_of(std::span<const std::int64_t> numbers) {
  nb::list items;
  for (const std::int64_t number : numbers) items.append(nb::int_(number));
  return nb::tuple(items);
}

dlpack::DeviceType device_type(const Array& array) {
  return array.device().is_host() ? dlpack::DeviceType::cpu : dlpack::DeviceType::cuda;
}

/// Makes the consumer's stream wait for the stream that wrote the array last.
void order_consumer(const ArrayObject& self, nb::handle stream) {
  const Device device = self.array.device();
  if (device.is_host() || !self.writer) return;
  if (!stream.is_none() && PyLong_Check(stream.ptr()) && nb::cast<std::int64_t>(stream) == -1) return;
  const Stream consumer = stream_of(stream, device);
  if (consumer.handle() == self.writer->handle()) return;
  const Event event = device.event();
  event.record(*self.writer);
  consumer.wait(event);
}

template <class Tensor>
void release_unused(PyObject* capsule) {
  const char* const name = std::is_same_v<Tensor, dlpack::ManagedTensor> ? "dltensor" : "dltensor_versioned";
  if (!PyCapsule_IsValid(capsule, name)) return;  // its consumer releases it
  auto* const tensor = static_cast<Tensor*>(PyCapsule_GetPointer(capsule, name));
  tensor->deleter(tensor);
}

nb::object exported(const ArrayObject& self, nb::object stream, nb::object max_version, nb::object dl_device,
                    nb::object copy) {
  if (!copy.is_none() && nb::cast<bool>(copy))
    throw nb::buffer_error("sinter shares memory and does not copy: pass copy=None, or copy the result");
  const nb::tuple own = nb::make_tuple(static_cast<int>(device_type(self.array)), self.array.device().ordinal());
  if (!dl_device.is_none() && !nb::tuple(dl_device).equal(own))
    throw nb::buffer_error("the array is on another device: use Device.array to copy it");
  order_consumer(self, stream);
  const bool versioned = !max_version.is_none() && nb::cast<int>(nb::object(nb::tuple(max_version)[0])) >= 1;
  if (versioned) {
    dlpack::ManagedTensorVersioned* const tensor = to_dlpack(self.array);
    return nb::steal(PyCapsule_New(tensor, "dltensor_versioned", release_unused<dlpack::ManagedTensorVersioned>));
  }
  if (self.array.is_read_only())
    throw nb::buffer_error("the array is read-only, which needs DLPack 1.0: pass max_version=(1, 0)");
  dlpack::ManagedTensor* const tensor = to_dlpack_unversioned(self.array);
  return nb::steal(PyCapsule_New(tensor, "dltensor", release_unused<dlpack::ManagedTensor>));
}

/// NumPy's type string. Throws UserError for dtypes that NumPy lacks.
std::string type_string(DType dtype) {
  const DTypeInfo& row = info(dtype);
  if (dtype == bf16 || is_f8(dtype))
    fail_here("array interface: NumPy has no type for " + std::string(row.name) + "; use DLPack, or cast in a program");
  const char kind = dtype == boolean ? 'b' : dtype == c64 ? 'c' : is_floating(dtype) ? 'f' : is_signed(dtype) ? 'i' : 'u';
  return std::string(row.size == 1 ? "|" : "<") + kind + std::to_string(row.size);
}

nb::dict cuda_interface(const ArrayObject& self) {
  const Array& array = self.array;
  if (array.device().is_host())
    throw nb::attribute_error("__cuda_array_interface__: the array is in host memory; use numpy.from_dlpack");
  nb::list bytes;
  for (const std::int64_t stride : array.strides()) bytes.append(nb::int_(stride * size_of(array.dtype())));
  nb::dict result;
  result["shape"] = tuple_of(array.shape());
  result["typestr"] = type_string(array.dtype());
  result["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(array.pointer()), array.is_read_only());
  result["strides"] = array.is_row_major() ? nb::none() : nb::object(nb::tuple(bytes));
  result["version"] = 3;
  if (self.writer) {
    const auto handle = reinterpret_cast<std::uintptr_t>(self.writer->handle());
    result["stream"] = handle == 0 ? 1 : handle;
  }
  return result;
}

/// A NumPy array with the elements, in memory of its own.
nb::object to_numpy(const ArrayObject& self) {
  const Array& array = self.array;
  const DType dtype = array.dtype();
  const nb::module_ numpy = nb::module_::import_("numpy");
  // NumPy has these types only through the package ml_dtypes.
  const char* const extension = dtype == bf16     ? "bfloat16"
                                : dtype == f8e4m3 ? "float8_e4m3fn"
                                : dtype == f8e5m2 ? "float8_e5m2"
                                                  : nullptr;
  const nb::object type = extension ? nb::object(nb::module_::import_("ml_dtypes").attr(extension))
                                    : nb::object(nb::str(type_string(dtype).c_str()));
  const nb::object result = numpy.attr("empty")(tuple_of(array.shape()), type);
  const auto address = nb::cast<std::uintptr_t>(result.attr("ctypes").attr("data"));
  const nb::gil_scoped_release released;
  const Device device = array.device();
  device.synchronize();
  const Stream stream = device.stream();
  device.download(array, reinterpret_cast<void*>(address), stream);
  stream.synchronize();
  return result;
}

void bind_protocols(nb::class_<ArrayObject>& type) {
  type.def("__dlpack__", &exported, nb::kw_only(), "stream"_a.none() = nb::none(), "max_version"_a.none() = nb::none(),
           "dl_device"_a.none() = nb::none(), "copy"_a.none() = nb::none(),
           "A capsule that shares the memory. The consumer's stream waits for the stream that wrote the array.")
      .def("__dlpack_device__",
           [](const ArrayObject& self) {
             return nb::make_tuple(static_cast<int>(device_type(self.array)), self.array.device().ordinal());
           })
      .def_prop_ro("__cuda_array_interface__", &cuda_interface)
      .def("numpy", &to_numpy,
           "A NumPy array with the elements, in memory of its own. Waits for the device. bf16 and f8 need the package "
           "ml_dtypes.")
      .def("__array__", [](const ArrayObject& self, nb::object dtype, nb::object) {
             const nb::object result = to_numpy(self);
             return dtype.is_none() ? result : nb::object(result.attr("astype")(dtype));
           },
           "dtype"_a.none() = nb::none(), "copy"_a.none() = nb::none());
}

}  // namespace

void bind_array(nb::module_& m) {
  nb::class_<ArrayObject> type(m, "Array",
                               "Device memory with a dtype, a shape and strides. It shares memory with NumPy, PyTorch, "
                               "JAX and CuPy through DLPack.");
  type.def_static("wrap",
                  [](std::uintptr_t pointer, DType dtype, Axes shape, std::optional<Device> device, Axes strides) {
                    return ArrayObject{Array::wrap(reinterpret_cast<void*>(pointer), dtype, shape,
                                                   device ? *device : default_device(), strides)};
                  },
                  "pointer"_a, "dtype"_a, "shape"_a, "device"_a.none() = nb::none(), "strides"_a.none() = nb::none(),
                  "Wraps device memory that the caller owns and that must outlive all work on it.")
      .def_prop_ro("dtype", [](const ArrayObject& self) { return self.array.dtype(); })
      .def_prop_ro("shape", [](const ArrayObject& self) { return tuple_of(self.array.shape()); })
      .def_prop_ro("strides", [](const ArrayObject& self) { return tuple_of(self.array.strides()); }, "In elements.")
      .def_prop_ro("rank", [](const ArrayObject& self) { return self.array.rank(); })
      .def_prop_ro("ndim", [](const ArrayObject& self) { return self.array.rank(); })
      .def_prop_ro("size", [](const ArrayObject& self) { return self.array.elements(); }, "The number of elements.")
      .def_prop_ro("nbytes", [](const ArrayObject& self) { return self.array.bytes(); })
      .def_prop_ro("pointer", [](const ArrayObject& self) { return reinterpret_cast<std::uintptr_t>(self.array.pointer()); })
      .def_prop_ro("device", [](const ArrayObject& self) { return self.array.device(); })
      .def_prop_ro("is_read_only", [](const ArrayObject& self) { return self.array.is_read_only(); })
      .def("read_only", [](const ArrayObject& self) { return ArrayObject{self.array.read_only(), self.writer}; },
           "A handle to the same elements that is read-only.")
      .def("view",
           [](const ArrayObject& self, std::int64_t byte_offset, DType dtype, Axes shape, Axes strides) {
             return ArrayObject{self.array.view(byte_offset, dtype, shape, strides), self.writer};
           },
           "byte_offset"_a, "dtype"_a, "shape"_a, "strides"_a.none() = nb::none(),
           "An array in part of the same memory. Raises UserError if it does not fit into this array.")
      .def("__repr__", [](const ArrayObject& self) {
        return "<sinter.Array " + std::string(name(self.array.dtype())) + std::string(nb::repr(tuple_of(self.array.shape())).c_str()) +
               " on " + std::string(self.array.device().name()) + ">";
      });
  bind_protocols(type);
  m.def("from_dlpack",
        [](nb::object source, std::optional<Device> device, nb::object stream) {
          void* handle = nullptr;
          if (!stream.is_none()) handle = stream_of(stream, device ? *device : default_device()).handle();
          return ArrayObject{array_of_object(source, device, handle)};
        },
        "source"_a, "device"_a.none() = nb::none(), nb::kw_only(), "stream"_a.none() = nb::none(),
        "An Array in the memory of `source`, without copying: an object with DLPack or __cuda_array_interface__. Pending "
        "work of the owner is ordered before later work on `stream` (None: the default stream).");
}

}  // namespace sinter::python
