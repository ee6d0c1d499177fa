// Says whether the times of a device may be recorded: those of the virtual GPU mean nothing.
#pragma once

#include <string_view>

namespace sinter {

/// True for the GPU of tests/virtual_gpu, whose name begins with `virtual GPU`. It runs kernels in
/// an interpreter.
bool is_virtual(std::string_view device_name);

/// True if `what` may record times of the device. The virtual GPU needs SINTER_REHEARSE=on, which
/// runs all work: the result is then false, and the caller records that it has no times. Throws
/// UserError without it, or if its value is neither `on` nor `off`.
bool may_record_times(std::string_view device_name, std::string_view what);

}  // namespace sinter
