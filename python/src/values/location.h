// The Python location of a call, which errors and reports show.
#pragma once

#include <string>
#include <string_view>

#include "sinter/graph.h"

namespace sinter::python {

/// The location that `location_guard` set in this thread, else the first Python frame outside of
/// the package sinter. The file name lives as long as the process.
Location current_location() noexcept;

/// Throws UserError with `text` after the current location: `model.py:42: …`.
[[noreturn]] void fail_here(const std::string& text);

/// Frames of files below `folder` are not locations of the user.
void set_package_folder(std::string_view folder);

/// Sets the location of this thread; a line of 0 removes it. Returns the previous one.
Location replace_location(std::string_view file, int line);

}  // namespace sinter::python
