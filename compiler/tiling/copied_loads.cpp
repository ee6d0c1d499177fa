#include "compiler/tiling/copied_loads.h"

#include <algorithm>

#include "compiler/body/access.h"
#include "compiler/body/collapse_axes.h"
#include "compiler/tiling/row_staging.h"

namespace sinter {

namespace {

/// PTX ISA manual, cp.async.bulk: addresses and sizes are multiples of 16 bytes.
constexpr int kBulkBytes = 16;
/// PTX ISA manual, cp.async: a thread copies 4, 8 or 16 bytes.
constexpr int kMinThreadBytes = 4;
constexpr int kMaxThreadBytes = 16;
/// One mbarrier per stage.
constexpr std::int64_t kBarrierBytes = 8;

/// The bytes that the address of a copied vector or tile must be a multiple of; 0 if the load
/// cannot be copied.
int copy_alignment(const Value& load, const Schedule& schedule) {
  if (schedule.copies == Copies::bulk) return kBulkBytes;
  const int bytes = schedule.vector * size_of(load.dtype);
  return bytes < kMinThreadBytes || bytes > kMaxThreadBytes ? 0 : bytes;
}

bool is_copied(const Body& body, const Value& value, const Schedule& schedule, const Facts& facts) {
  if (value.kind != Value::Kind::load || !value.conditions.empty() || has_indirect(value.at))
    return false;
  const int bytes = copy_alignment(value, schedule);
  const int size = size_of(value.dtype);
  // Rows must consist of whole vectors, and adjacent rows of whole units of a copy.
  if (body.has_reduced_axis) {
    const Extent extent = body.reduced_size();
    if (!value.varies || !extent.is_number() || extent.number() % schedule.vector != 0 ||
        bytes == 0 || extent.number() * size % bytes != 0)
      return false;
  }
  return bytes > 0 && is_linear_position(body, value.at, std::max(bytes / size, schedule.vector)) &&
         std::min(facts.alignment, std::int64_t{value.aligned} * size) >= bytes;
}

}  // namespace

std::vector<int> copied_loads(const Body& body, const Schedule& schedule, const Facts& facts) {
  std::vector<int> loads;
  if (schedule.copies == Copies::none || schedule.vector == 1) return loads;
  for (std::size_t i = 0; i < body.values.size(); ++i)
    if (is_copied(body, body.values[i], schedule, facts)) loads.push_back(static_cast<int>(i));
  return loads;
}

std::int64_t copied_elements(const Body& body, const Schedule& schedule) {
  if (body.has_reduced_axis) return schedule.rows_per_block * body.reduced_size().number();
  return std::int64_t{schedule.threads} * schedule.vector;
}

std::int64_t stage_bytes(const Body& body, std::span<const int> loads, const Schedule& schedule) {
  std::int64_t bytes = 0;
  for (const int load : loads)
    bytes += copied_elements(body, schedule) *
             size_of(body.values[static_cast<std::size_t>(load)].dtype);
  return bytes;
}

int stages_in_flight(const Body& body, std::span<const int> loads, const Schedule& schedule) {
  if (!body.has_reduced_axis) return schedule.stages;
  const PassPlan plan = plan_resident_passes(body);
  const bool are_kept = std::ranges::all_of(loads, [&](int load) {
    return std::ranges::binary_search(plan.kept, load) &&
           plan.first_pass[static_cast<std::size_t>(load)] == 0;
  });
  return are_kept ? schedule.stages : schedule.stages - 1;
}

std::int64_t copied_shared_bytes(std::int64_t stage_bytes, const Schedule& schedule) {
  const std::int64_t barriers = schedule.copies == Copies::bulk ? kBarrierBytes : 0;
  return schedule.stages * (stage_bytes + barriers);
}

bool may_copy_rows(const Body& body, const Schedule& schedule) {
  const bool is_alone = schedule.cluster == 1 && schedule.splits == 1 && !schedule.splits_rows;
  return body.has_reduced_axis && body.parallel_axes > 0 && body.reduced_size().is_number() &&
         body.finals.empty() && body.columns.empty() && !may_have_staged_rows(body) &&
         schedule.resident && !schedule.in_shared && schedule.tile == 0 && is_alone;
}

}  // namespace sinter
