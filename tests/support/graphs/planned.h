// Plans graphs in text form for tests.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/plan.h"
#include "sinter/text.h"

namespace sinter::test {

/// The program of the graph `text` on `target`, for `symbols` by id.
inline Program planned(std::string_view text, std::string_view target = "h200",
                       std::vector<std::int64_t> symbols = {}) {
  return plan(parse(text), *find_target(target), {.symbols = std::move(symbols)}, {});
}

}  // namespace sinter::test
