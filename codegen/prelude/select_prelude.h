// Selects the prelude declarations that a kernel names, directly or through other declarations. The
// compiler would otherwise parse the whole prelude for every kernel.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/prelude/prelude.h"

namespace sinter {

/// One top-level declaration, one macro, or one outermost `#if` … `#endif` block.
struct PreludePart {
  std::string_view text;                        ///< with the comment in front of it
  std::vector<std::string_view> declares = {};  ///< names, also of overloads and specializations
  std::vector<std::string_view> names = {};     ///< all names in it, each once, its own included
};

/// All parts of a prelude, in order. Their concatenated texts are the whole prelude.
std::vector<PreludePart> prelude_parts(std::string_view prelude);

/// The prelude without the declarations that none of `kernels` needs. The part that only the host
/// device has is kept whole.
std::string prelude_for(std::span<const std::string_view> kernels, Prelude which = Prelude::cuda);

}  // namespace sinter
