#include "codegen/emit.h"

#include "codegen/shapes.h"

namespace sinter {

Source emit(const Program& program, const Kernel& kernel, const Schedule& schedule,
            std::string_view entry) {
  KernelWriter writer(program, kernel, schedule, entry);
  switch (kernel.kind) {
    case KernelKind::pointwise: write_pointwise(writer); break;
    case KernelKind::scatter: write_scatter(writer); break;
    case KernelKind::scan: write_scan(writer); break;
    case KernelKind::row_reduce: write_row_reduce(writer); break;
    case KernelKind::column_reduce: write_column_reduce(writer); break;
    case KernelKind::full_reduce: write_full_reduce(writer); break;
  }
  return writer.finish();
}

}  // namespace sinter
