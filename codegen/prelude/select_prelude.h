// The prelude is read by the compiler in front of every kernel, most of it in vain: of its
// declarations only those that a kernel names are written, and what these name in their turn.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/prelude/prelude.h"

namespace sinter {

/// A top-level declaration, or a preprocessor directive with what stands under it.
struct PreludePart {
  std::string_view text;                        ///< with the comment in front of it
  std::vector<std::string_view> declares = {};  ///< overloads and specializations likewise
  std::vector<std::string_view> names = {};     ///< each once, its own among them
};

/// All parts of a prelude, in order; together they are the whole of it.
std::vector<PreludePart> prelude_parts(std::string_view prelude);

/// The prelude without the declarations that none of `kernels` needs; what is for the host device
/// alone stays whole.
std::string prelude_for(std::span<const std::string_view> kernels, Prelude which = Prelude::cuda);

}  // namespace sinter
