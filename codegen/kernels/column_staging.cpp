#include "codegen/kernels/column_staging.h"

#include <fmt/format.h>

namespace sinter {

ColumnStaging::ColumnStaging(KernelWriter& writer, const ColumnSplit& split)
    : writer_(writer),
      split_(split),
      passes_(writer.schedule.resident ? plan_column_passes(writer.body)
                                       : plan_passes(writer.body)),
      staging_(writer) {}

int ColumnStaging::threads_side_by_side() const {
  return writer_.schedule.threads / writer_.schedule.threads_per_row;
}

void ColumnStaging::declare() {
  staging_.declare(passes_, kept_rows(split_) * columns_of(writer_.schedule), "Shape::column()");
}

std::vector<int> ColumnStaging::kept_by(int pass) const {
  std::vector<int> result;
  for (const int value : passes_.kept)
    if (passes_.first_pass[static_cast<std::size_t>(value)] == pass) result.push_back(value);
  return result;
}

std::string ColumnStaging::place(const std::string& chunk) const {
  return fmt::format("(within * {} + {}) * {}", split_.parts * split_.chunks_per_part, chunk,
                     threads_side_by_side());
}

void ColumnStaging::write_before(int pass, const std::string& chunk) {
  staging_.write_before(passes_, pass, place(chunk));
}

void ColumnStaging::write_after(int pass, const std::string& chunk) {
  staging_.write_after(passes_, pass, place(chunk));
}

}  // namespace sinter
