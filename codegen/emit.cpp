#include "codegen/emit.h"

#include "codegen/joined.h"
#include "codegen/shapes.h"

namespace sinter {

Source emit(const Program& program, const Kernel& kernel, const Schedule& schedule,
            std::string_view entry) {
  if (!kernel.members.empty()) return write_joined(program, kernel, schedule, entry);
  KernelWriter writer(program, kernel, schedule, entry);
  write_shape(writer);
  return writer.finish();
}

}  // namespace sinter
