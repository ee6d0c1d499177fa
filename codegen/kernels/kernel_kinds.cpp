#include "codegen/kernels/kernel_kinds.h"

namespace sinter {

void write_by_kind(KernelWriter& writer) {
  switch (writer.kernel.kind) {
    case KernelKind::pointwise:
      if (writer.schedule.copies != Copies::none) return write_copied_pointwise(writer);
      return writer.schedule.tile > 0 ? write_tiled_pointwise(writer) : write_pointwise(writer);
    case KernelKind::scatter: return write_scatter(writer);
    case KernelKind::scan: return write_scan(writer);
    case KernelKind::row_reduce:
      return writer.schedule.copies != Copies::none ? write_copied_rows(writer)
                                                    : write_row_reduce(writer);
    case KernelKind::row_column_reduce: return write_row_column_reduce(writer);
    case KernelKind::column_reduce: return write_column_reduce(writer);
    case KernelKind::full_reduce: return write_full_reduce(writer);
    case KernelKind::horizontal:  // only its sections are written
    case KernelKind::opaque: break;
  }
}

}  // namespace sinter
