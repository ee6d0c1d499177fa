#include "compiler/candidates/cache_hints.h"

#include <algorithm>

#include "compiler/body/access.h"
#include "compiler/body/footprint.h"
#include "compiler/candidates/candidate_list.h"

namespace sinter {

namespace {

/// True if no two positions of the iteration space read the same element of `load`.
bool is_read_once(const Body& body, const Value& load) {
  const int axes = body.parallel_axes + (body.has_reduced_axis ? 1 : 0);
  for (int axis = 0; axis < axes; ++axis)
    if (!body.space.extent(axis).is(1) && !depends_on(load.at, axis)) return false;
  return footprint_of(body, load).is_exact &&
         std::ranges::count_if(body.values, [&](const Value& other) {
           return other.kind == Value::Kind::load && other.node == load.node;
         }) == 1;
}

}  // namespace

std::vector<int> last_reads(const Body& body, const Schedule& schedule) {
  std::vector<int> result(body.values.size(), -1);
  std::vector<std::size_t> once;
  for (std::size_t i = 0; i < body.values.size(); ++i)
    if (body.values[i].kind == Value::Kind::load && is_read_once(body, body.values[i]))
      once.push_back(i);
  if (once.empty()) return result;
  // Scans and kernels of rows and columns load their rows once.
  if (!body.has_reduced_axis || body.scan || !body.columns.empty()) {
    for (const std::size_t i : once) result[i] = 0;
    return result;
  }
  const PassPlan plan = schedule.resident ? plan_resident_passes(body) : plan_passes(body);
  for (const std::size_t i : once) {
    const bool is_kept = std::ranges::binary_search(plan.kept, static_cast<int>(i));
    result[i] = is_kept ? plan.first_pass[i] : last_pass(plan, i);
  }
  return result;
}

std::vector<Schedule> with_cache_hints(std::vector<Schedule> schedules, const Body& body,
                                       const Target& target, const Facts& facts) {
  if (schedules.empty() || body.scatter) return schedules;
  const double moved = moved_bytes(body, facts);
  const double cache = static_cast<double>(target.l2_bytes);
  if (moved < cache / 4) return schedules;
  const std::vector<int> reads = last_reads(body, schedules.front());
  if (std::ranges::all_of(reads, [](int pass) { return pass < 0; })) return schedules;
  Schedule hinted = schedules.front();
  hinted.has_hints = true;
  schedules.insert(schedules.begin() + 1, hinted);
  if (schedules.size() > kMaxCandidates) schedules.resize(kMaxCandidates);
  return schedules;
}

}  // namespace sinter
