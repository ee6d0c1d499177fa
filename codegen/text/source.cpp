#include "codegen/text/source.h"

#include <algorithm>

#include "compiler/target/target.h"
#include "ir/support/dense_map.h"

namespace sinter {

void Widths::add(const Widths& other) {
  if (other.widest == 0) return;
  narrowest = widest == 0 ? other.narrowest : std::min(narrowest, other.narrowest);
  widest = std::max(widest, other.widest);
}

std::string write_early_start_wait(std::string_view arch, Source& source) {
  if (compute_capability_of(arch) < 90 || source.is_cooperative) return {};
  source.may_start_early = true;
  return "  wait_for_prior_launches();\n";
}

const Argument* table_argument(const Source& source) {
  const auto argument = std::ranges::find_if(source.arguments, [](const Argument& one) {
    return one.kind == Argument::Kind::table || one.kind == Argument::Kind::table_values;
  });
  return argument == source.arguments.end() ? nullptr : &*argument;
}

std::size_t table_values_in_memory(const Source& source) {
  const Argument* const argument = table_argument(source);
  return argument && argument->kind == Argument::Kind::table ? source.table.size() : 0;
}

std::vector<int> buffers_of(const Source& source) {
  std::vector<int> buffers;
  DenseSet<int> known;
  for (const std::vector<Argument>* list : {&source.arguments, &source.table})
    for (const Argument& argument : *list)
      if (argument.kind == Argument::Kind::buffer && known.insert(argument.index).second)
        buffers.push_back(argument.index);
  return buffers;
}

}  // namespace sinter
