// Options as keyword arguments.
#pragma once

#include "casters.h"

namespace sinter::python {

/// `base`, or the default options, with the fields that `keywords` names. `cache` may be the name of a
/// mode. Throws UserError for an unknown name or a value of another type; `function` is for the message.
Options options_of(std::string_view function, const std::optional<Options>& base, const nb::kwargs& keywords);

/// The sizes of symbols in a dictionary. The texts belong to `sizes`.
std::vector<Size> sizes_of(const nb::dict& sizes);

}  // namespace sinter::python
