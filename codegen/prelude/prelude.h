// The text of the prelude: the device code that is compiled in front of emitted kernels.
#pragma once

#include <string_view>

namespace sinter {

/// The compiler that the text is for: NVRTC, or the system's C++ compiler for the host device.
enum class Prelude { cuda, host };

/// The files of codegen/device for `which`, concatenated in order. Embedded when sinter is built.
std::string_view prelude_text(Prelude which);

/// The part at the beginning of `prelude_text(which)` that the other prelude does not have.
std::string_view prelude_of_one_device(Prelude which);

}  // namespace sinter
