// The device code that every emitted kernel stands on, as text to put in front of it.
#pragma once

#include <string_view>

namespace sinter {

/// Which compiler the text is for: NVRTC, or the system's C++ compiler for the host device.
enum class Prelude { cuda, host };

/// The files of codegen/device for `which`, joined in order; embedded when sinter is built.
std::string_view prelude_text(Prelude which);

/// What of that, at its beginning, is for `which` alone.
std::string_view prelude_alone(Prelude which);

}  // namespace sinter
