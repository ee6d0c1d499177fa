// Tuning files: measurements of one machine, for use on machines of the same kind.
#pragma once

#include <cstddef>
#include <string>

#include "sinter/device.h"

namespace sinter {

/// Writes the measurements of kernels on `device` to the file `path`: all that this process has
/// made or has found in the disk cache. The file is JSON after a line with format and checksum.
/// Throws UserError if the file cannot be written.
void export_tuning(const Device& device, const std::string& path);

/// Imports the measurements of a tuning file for the rest of the process. Kernels that are compiled
/// later are not measured if the file has their candidates. Returns the number of kernels in the
/// file.
///
/// Untrusted files are safe, because no file can change a result. Throws UserError, and changes
/// nothing, if the file is damaged, invalid, or from another kind of machine (device, driver).
/// Measurements of kernels from another compiler are imported, but never match a kernel.
std::size_t import_tuning(const Device& device, const std::string& path);

}  // namespace sinter
