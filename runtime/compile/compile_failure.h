// The error message of a failed compilation: the source lines with errors, and the compiler's log.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sinter {

/// A part of the compiled text, and its name in its #line directive.
struct SourcePart {
  std::string_view name;
  std::string_view text;
};

/// True if the parts contain a custom op.
bool has_custom_op(std::span<const SourcePart> parts);

/// The whole message: "nvrtc: sinter could not compile its own kernel bias_relu for sm_90 …", the
/// lines with errors, the errors, the log, and `foot` ("nvrtc 13.0"). `parts` begins with the
/// prelude; `target` is " for sm_90" or empty.
std::string explain_compile_failure(std::string_view compiler, std::string_view target,
                                    std::span<const SourcePart> parts, std::string_view log,
                                    std::string_view foot);

}  // namespace sinter
