#include "codegen/emit.h"

#include "codegen/horizontal/fused_launch.h"
#include "codegen/kernels/kernel_kinds.h"

namespace sinter {

namespace {

Source emit(const Program& program, const Kernel& kernel, const Schedule& schedule,
            std::string_view entry, Naming naming) {
  if (!kernel.sections.empty()) return write_fused_launch(program, kernel, schedule, entry, naming);
  KernelWriter writer(program, kernel, schedule, entry, naming);
  write_by_kind(writer);
  return writer.finish();
}

}  // namespace

Source emit(const Program& program, const Kernel& kernel, const Schedule& schedule,
            std::string_view entry) {
  return emit(program, kernel, schedule, entry, Naming::by_graph);
}

std::string anonymous_text(const Program& program, const Kernel& kernel, const Schedule& schedule) {
  return emit(program, kernel, schedule, "kernel", Naming::anonymous).text;
}

}  // namespace sinter
