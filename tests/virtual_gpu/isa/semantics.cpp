// find_semantics: the rows of all topics in one table.
#include "tests/virtual_gpu/isa/semantics.h"

#include <unordered_map>

namespace sinter::virtual_gpu {
namespace {

using Table = std::unordered_map<std::string_view, const Semantics*>;

Table make_table(std::initializer_list<std::span<const Semantics>> topics) {
  Table table;
  for (const std::span<const Semantics> rows : topics)
    for (const Semantics& row : rows) table.emplace(row.opcode, &row);
  return table;
}

const Semantics* find(const Table& table, std::string_view opcode) {
  const auto found = table.find(opcode);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace

const Semantics* find_semantics(std::string_view opcode, int operand_count) {
  static const Table table =
      make_table({integer_semantics(), bit_semantics(), comparison_semantics(), float_semantics(),
                  half_semantics(), conversion_semantics(), approximate_semantics()});
  static const Table of_three = make_table({extremum_semantics()});
  if (operand_count == 3)
    if (const Semantics* const row = find(of_three, opcode)) return row;
  const Semantics* const row = find(table, opcode);
  return row ? row : find(of_three, opcode);
}

}  // namespace sinter::virtual_gpu
