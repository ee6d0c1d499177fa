// Plans graphs in text form for tests.
#pragma once

#include <string_view>

#include "compiler/plan.h"
#include "sinter/text.h"

namespace sinter::test {

/// The program of the graph `text`, which has no symbols, on `target`.
inline Program planned(std::string_view text, std::string_view target = "h200") {
  return plan(parse(text), *find_target(target), {}, {});
}

}  // namespace sinter::test
