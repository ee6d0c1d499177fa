#include "codegen/source.h"

#include "ir/adt.h"

namespace sinter {

std::vector<int> buffers_of(const Source& source) {
  std::vector<int> buffers;
  llvm::DenseSet<int> known;
  for (const std::vector<Argument>* list : {&source.arguments, &source.table})
    for (const Argument& argument : *list)
      if (argument.kind == Argument::Kind::buffer && known.insert(argument.index).second)
        buffers.push_back(argument.index);
  return buffers;
}

}  // namespace sinter
