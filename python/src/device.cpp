// Device, Stream and Event.
#include "bind.h"
#include "casters.h"
#include "arrays/stream_of.h"

#include <nanobind/operators.h>

#include "arrays/foreign_array.h"
#include "sinter/error.h"

namespace sinter::python {

using namespace nanobind::literals;

namespace {

void bind_streams(nb::module_& m) {
  nb::class_<Event>(m, "Event", "A point in the work of a stream.")
      .def("record", &Event::record, "stream"_a, "Records the point after all work that is on `stream` now.")
      .def("synchronize", &Event::synchronize, nb::call_guard<nb::gil_scoped_release>(), "Waits for the recorded point.")
      .def_prop_ro("is_done", &Event::is_done)
      .def("elapsed_since", &Event::elapsed_since, "start"_a, "Milliseconds from the point of `start` to this point.");
  nb::class_<Stream>(m, "Stream", "A queue of work on a device.")
      .def_static("wrap", [](nb::object handle, std::optional<Device> device) {
                    return stream_of(handle, device ? *device : default_device());
                  },
                  "handle"_a, "device"_a.none() = nb::none(),
                  "Wraps a CUDA stream that the caller owns: an int, None for the default stream, or a stream of PyTorch, "
                  "CuPy or another library with __cuda_stream__. It must outlive all work that sinter puts on it.")
      .def_prop_ro("device", &Stream::device)
      .def_prop_ro("handle", [](const Stream& self) { return reinterpret_cast<std::uintptr_t>(self.handle()); },
                   "The CUstream, as an int.")
      .def("__cuda_stream__", [](const Stream& self) {
        return nb::make_tuple(0, reinterpret_cast<std::uintptr_t>(self.handle()));
      })
      .def("synchronize", &Stream::synchronize, nb::call_guard<nb::gil_scoped_release>(),
           "Waits until all work on the stream is done.")
      .def("wait", &Stream::wait, "event"_a, "Later work on the stream starts after the point that `event` recorded.");
}

/// A new array on `device` with the elements of `source`.
ArrayObject copied(const Device& device, nb::handle source) {
  const Stream stream = device.stream();
  const Array from = array_of_object(source, std::nullopt, stream.handle());
  const Array to = device.empty(from.dtype(), from.shape());
  const nb::gil_scoped_release released;
  std::vector<std::byte> elements(static_cast<std::size_t>(from.elements() * size_of(from.dtype())));
  const Stream reader = from.device().stream();
  from.device().synchronize();
  from.device().download(from, static_cast<void*>(elements.data()), reader);
  reader.synchronize();
  device.upload(to, static_cast<const void*>(elements.data()), stream);
  stream.synchronize();
  return {to};
}

}  // namespace

void bind_device(nb::module_& m) {
  nb::class_<Device> device(m, "Device", "A GPU or a host device.");
  bind_streams(m);
  device.def_prop_ro("name", &Device::name)
      .def_prop_ro("arch", &Device::arch, "The architecture that kernels are planned for, for example `sm_90`.")
      .def_prop_ro("is_host", &Device::is_host, "True for the CPU, which runs the emitted kernels.")
      .def_prop_ro("ordinal", &Device::ordinal, "The index among devices of the same kind, from 0.")
      .def("stream", &Device::stream, "A new stream.")
      .def("event", &Device::event)
      .def("empty", [](const Device& self, DType dtype, Axes shape, Axes strides) {
             return ArrayObject{self.empty(dtype, shape, strides)};
           },
           "dtype"_a, "shape"_a, "strides"_a.none() = nb::none(),
           "Allocates an array with unspecified contents. `strides` are in elements; without them it is row-major. "
           "Raises DriverError if there is not enough memory.")
      .def("array", [](const Device& self, nb::object source) { return copied(self, source); }, "source"_a,
           "A new row-major array on this device with the elements of `source`, an array of any library.")
      .def("synchronize", &Device::synchronize, nb::call_guard<nb::gil_scoped_release>(),
           "Waits for all work on the device.")
      .def("trim", &Device::trim, nb::call_guard<nb::gil_scoped_release>(), "Returns idle memory to the driver.")
      .def(nb::self == nb::self)
      .def("__hash__", [](const Device& self) { return std::hash<const void*>()(self.state()); })
      .def("__repr__", [](const Device& self) {
        return "<sinter.Device " + std::string(self.name()) + ", " + (self.is_host() ? "host " : "cuda ") +
               std::to_string(self.ordinal()) + ">";
      });
  m.def("default_device", &default_device, "The first CUDA device if there is one, else the host device.");
  m.def("cuda_device", &cuda_device, "ordinal"_a = 0, "Raises DriverError, with the reason, if there is no CUDA device.");
  m.def("host_device", &host_device, "ordinal"_a = 0, "The CPU as a device.");
  m.def("devices", &devices, "All CUDA devices, then the first host device.");
}

}  // namespace sinter::python
