// Streams of other libraries.
#pragma once

#include "objects.h"

namespace sinter::python {

/// The stream that `source` names on `device`. It is a Stream, an int (CUstream), None (the default
/// stream), or an object with `__cuda_stream__`, `cuda_stream` (PyTorch) or `ptr` (CuPy). Throws
/// UserError for others.
Stream stream_of(nb::handle source, const Device& device);

}  // namespace sinter::python
