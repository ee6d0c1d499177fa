#include "compiler/tiling/kernel_kind.h"

#include <algorithm>

#include "compiler/body/footprint.h"
#include "compiler/tiling/row_residency.h"

namespace sinter {

bool is_contiguous_across_rows(const Body& body, const Facts& facts) {
  // Collapsed axes have no trailing extent of 1, but fusion asks before axes are collapsed.
  int last = body.parallel_axes - 1;
  while (last > 0 && body.space.extent(last).is(1)) --last;
  const auto is_across = [&](const Value& value) {
    return value.kind == Value::Kind::load && value.varies && has_unit_stride(value.at, last);
  };
  if (last < 0 || std::ranges::none_of(body.values, is_across)) return false;
  // Bytes read along the reduced axis, and along the last parallel axis.
  double along_rows = 0;
  double along_columns = 0;
  for (const Value& value : body.values) {
    if (value.kind != Value::Kind::load || !value.varies) continue;
    const double bytes =
        static_cast<double>(evaluate(footprint_of(body, value).elements, facts.symbols)) *
        size_of(value.dtype);
    if (has_unit_stride(value.at, body.reduced_axis())) along_rows += bytes;
    if (has_unit_stride(value.at, last)) along_columns += bytes;
  }
  return along_columns > along_rows;
}

bool reduces_columns(const Body& body, const Facts& facts) {
  return body.has_reduced_axis && !body.scatter && !body.scan && body.columns.empty() &&
         body.finals.empty() && is_contiguous_across_rows(body, facts);
}

KernelKind kind_of(const Body& body, const Target& target, const Facts& facts) {
  if (body.scatter) return KernelKind::scatter;
  if (body.scan) return KernelKind::scan;
  if (!body.has_reduced_axis) return KernelKind::pointwise;
  if (!body.columns.empty()) return KernelKind::row_column_reduce;
  if (is_contiguous_across_rows(body, facts)) return KernelKind::column_reduce;
  if (should_split_rows(body, target, facts) && body.passes() == 1) return KernelKind::full_reduce;
  return KernelKind::row_reduce;
}

}  // namespace sinter
