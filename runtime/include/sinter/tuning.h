// Tuning files: what was measured on one machine, for all machines like it.
#pragma once

#include <cstddef>
#include <string>

#include "sinter/device.h"

namespace sinter {

/// Writes all measurements of kernels on `device` that this process has made or found in the disk
/// cache to the file `path`, as JSON behind a line with its format and checksum. Throws UserError
/// where the file cannot be written.
void export_tuning(const Device& device, const std::string& path);

/// Takes the measurements of a tuning file, for as long as the process lives: kernels compiled from
/// now on are not measured where the file knows their candidates. Returns how many kernels it has.
/// Files may come from anywhere: one that is damaged, means nothing, or was written on another kind
/// of machine (device, driver) throws UserError and changes nothing; none can change a result.
/// Kernels that another compiler made are taken, and never asked for.
std::size_t import_tuning(const Device& device, const std::string& path);

}  // namespace sinter
