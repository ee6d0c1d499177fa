// Options as keyword arguments.
#pragma once

#include "values/casters.h"

namespace sinter::python {

/// `base`, or the default options, with the fields that `keywords` names. `cache` may be the name of a
/// mode. Throws UserError for an unknown name or a value of another type; `function` is for the message.
Options options_of(std::string_view function, const std::optional<Options>& base, const nb::kwargs& keywords);

}  // namespace sinter::python
