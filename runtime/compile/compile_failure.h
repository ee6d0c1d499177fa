// What a failed compile tells: the lines at fault, numbered, and the compiler's words.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// A part of the compiled text, under the name that its #line directive gives it.
struct SourcePart {
  std::string_view name;
  std::string_view text;
};

/// One "error:" of a compiler's log.
struct CompilerMessage {
  std::string part;
  int line = 0;
  std::string text;
};

/// Finds the errors in a log of GCC, Clang ("part:line:column: error: text") or NVRTC
/// ("part(line): error: text").
std::vector<CompilerMessage> find_errors(std::string_view log);

/// The lines of `text` around each of `lines`, with their numbers: "  16 |   const float sum = …".
std::string numbered_lines(std::string_view text, std::span<const int> lines);

/// True if a function of the user's is among the parts.
bool has_custom_op(std::span<const SourcePart> parts);

/// The whole message: "nvrtc: sinter could not compile its own kernel bias_relu for sm_90 …", the
/// lines at fault, the errors, the log and the foot ("nvrtc 13.0"). `parts` begins with the
/// prelude; `target` is " for sm_90" or nothing.
std::string explain_compile_failure(std::string_view compiler, std::string_view target,
                                    std::span<const SourcePart> parts, std::string_view log,
                                    std::string_view foot);

}  // namespace sinter
