// Arrays of other libraries as Arrays of sinter, without copying.
#pragma once

#include "values/objects.h"

namespace sinter::python {

/// The Array in the memory of `source`: an ArrayObject, or an object with DLPack or
/// `__cuda_array_interface__`. For GPU memory, pending work of the owner is ordered before later work on
/// the CUDA stream `stream`. Without `device`, the memory belongs to the device that the object names.
///
/// Throws UserError if the object is no array, or as from_dlpack does.
Array array_of_object(nb::handle source, std::optional<Device> device, void* stream);

/// The same for the duration of one call, while `source` is alive. Faster: it takes no ownership if the
/// library of `source` has DLPack's exchange functions.
Array borrowed_array(nb::handle source, const Device& device, void* stream);

}  // namespace sinter::python
