// find_semantics: the rows of all topics in one table.
#include "tests/virtual_gpu/isa/semantics.h"

#include <unordered_map>

namespace sinter::virtual_gpu {
namespace {

using Table = std::unordered_map<std::string_view, const Semantics*>;

Table make_table() {
  const std::span<const Semantics> topics[] = {
      integer_semantics(), bit_semantics(),        comparison_semantics(), float_semantics(),
      half_semantics(),    conversion_semantics(), approximate_semantics()};
  Table table;
  for (const std::span<const Semantics> rows : topics)
    for (const Semantics& row : rows) table.emplace(row.opcode, &row);
  return table;
}

}  // namespace

const Semantics* find_semantics(std::string_view opcode) {
  static const Table table = make_table();
  const auto found = table.find(opcode);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace sinter::virtual_gpu
