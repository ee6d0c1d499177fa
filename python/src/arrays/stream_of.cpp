#include "arrays/stream_of.h"

#include <nanobind/stl/string.h>

#include "values/location.h"
#include "sinter/error.h"

namespace sinter::python {

namespace {

Stream wrapped(nb::handle number, const Device& device) {
  const auto handle = nb::cast<std::uintptr_t>(number);
  // 1 is CUDA's own name of the default stream.
  return Stream::wrap(handle <= 1 ? nullptr : reinterpret_cast<void*>(handle), device);
}

}  // namespace

Stream stream_of(nb::handle source, const Device& device) {
  if (Stream* stream = nullptr; nb::try_cast(source, stream) && stream) return *stream;
  if (source.is_none()) return Stream::wrap(nullptr, device);
  if (PyLong_Check(source.ptr())) return wrapped(source, device);
  if (nb::hasattr(source, "__cuda_stream__")) {
    const nb::object pair = source.attr("__cuda_stream__")();
    return wrapped(nb::object(pair[1]), device);
  }
  for (const char* attribute : {"cuda_stream", "ptr"})
    if (nb::hasattr(source, attribute)) return wrapped(source.attr(attribute), device);
  fail_here(                  std::string(nb::str(source.type().attr("__name__")).c_str()) +
                  " is no stream; pass a sinter.Stream, a stream of PyTorch or CuPy, an int, or None");
}

}  // namespace sinter::python
