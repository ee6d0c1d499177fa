// Reads and writes arrays in NumPy's .npy format.
#pragma once

#include "ir/shape/host_array.h"

#include <string>

namespace sinter::command {

/// The array in `file`, in format 1.0 to 3.0, with the element order of the file. Throws UsageError
/// if the file cannot be read, and UserError if it is damaged or its elements are not `dtype`.
HostArray read_npy(const std::string& file, DType dtype);

/// Writes format 1.0 in row-major order, for any strides of `array`. Throws UserError if the file
/// cannot be written.
void write_npy(const std::string& file, const HostArray& array);

/// Copies the elements of `from` to `to`, which has the same dtype and shape but any strides.
void copy_elements(const HostArray& from, HostArray& to);

}  // namespace sinter::command
