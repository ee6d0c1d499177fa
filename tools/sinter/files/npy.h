// Arrays in .npy files, as NumPy reads and writes them.
#pragma once

#include "ir/shape/host_array.h"

#include <string>

namespace sinter::command {

/// The array in `file`, of format 1.0 to 3.0, in the order that it has there. Throws UsageError
/// where the file cannot be read, and UserError where it is damaged or its elements are no `dtype`:
/// with what was found, what was expected and what to do.
HostArray read_npy(const std::string& file, DType dtype);

/// Writes format 1.0, row-major, whatever the strides of `array`. Throws UserError where the file
/// cannot be written.
void write_npy(const std::string& file, const HostArray& array);

/// Copies the elements of `from` into the places of `to`, of the same dtype and shape.
void copy_elements(const HostArray& from, HostArray& to);

}  // namespace sinter::command
