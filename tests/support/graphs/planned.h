// Programs of graphs in text form, as tests look at them.
#pragma once

#include <string_view>

#include "compiler/plan.h"
#include "sinter/text.h"

namespace sinter::test {

/// What the graph `text`, of no symbols, is planned to be on `target`.
inline Program planned(std::string_view text, std::string_view target = "h200") {
  return plan(parse(text), *find_target(target), {}, {});
}

}  // namespace sinter::test
