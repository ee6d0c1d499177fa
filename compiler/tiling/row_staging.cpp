#include "compiler/tiling/row_staging.h"

#include <algorithm>

#include "compiler/program/size_class.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

constexpr std::int64_t kMaxRowBytes = 8 * 1024;

/// True if `load` reads all elements of its row consecutively.
bool is_plain_row(const Body& body, const Value& load, const Facts& facts) {
  if (load.kind != Value::Kind::load || !load.conditions.empty() || load.may_repeat ||
      has_indirect(load.at))
    return false;
  return has_unit_stride(load.at, body.reduced_axis()) &&
         class_of_residency(body.reduced_size(), facts).high <= kMaxRowBytes / size_of(load.dtype);
}

/// True if `load`, shifted by `shift` elements, stays within the row wherever its conditions hold.
bool stays_in_row(const Body& body, const Value& load, Extent shift) {
  Extent begin = 0;
  Extent end = body.reduced_size();
  for (const Condition& condition : load.conditions)
    if (has_unit_stride(condition.at, body.reduced_axis()))
      narrow_range(begin, end, body.reduced_axis(), condition);
  return provably_nonnegative(begin + shift) &&
         provably_nonnegative(body.reduced_size() - (end + shift));
}

}  // namespace

bool may_have_staged_rows(const Body& body) {
  if (!body.has_reduced_axis || !body.columns.empty() || body.scan || body.scatter) return false;
  llvm::SmallVector<const Node*, 32> loaded;
  for (const Value& value : body.values)
    if (value.kind == Value::Kind::load) loaded.push_back(value.node);
  std::ranges::sort(loaded);
  return std::ranges::adjacent_find(loaded) != loaded.end();
}

std::vector<StagedRow> staged_rows(const Body& body, const PassPlan& plan, const Facts& facts) {
  std::vector<StagedRow> result;
  if (!may_have_staged_rows(body)) return result;
  for (const int kept : plan.kept) {
    const Value& row = body.values[static_cast<std::size_t>(kept)];
    if (plan.first_pass[static_cast<std::size_t>(kept)] != 0 || !is_plain_row(body, row, facts))
      continue;
    StagedRow staged{.kept = kept, .loads = {}};
    for (std::size_t i = 0; i < body.values.size(); ++i) {
      const Value& load = body.values[i];
      const Extent shift = load.at.constant - row.at.constant;
      if (load.kind == Value::Kind::load && load.node == row.node && plan.first_pass[i] > 0 &&
          load.at.terms == row.at.terms && !shift.is(0) && stays_in_row(body, load, shift))
        staged.loads.emplace_back(static_cast<int>(i), shift);
    }
    if (!staged.loads.empty()) result.push_back(std::move(staged));
  }
  return result;
}

std::int64_t staged_length(const Body& body, int vector, const Facts& facts) {
  return round_up(class_of_residency(body.reduced_size(), facts).high, vector);
}

std::int64_t staged_bytes(const Body& body, const StagedRow& row, int vector, const Facts& facts) {
  const Value& kept = body.values[static_cast<std::size_t>(row.kept)];
  return staged_length(body, vector, facts) * size_of(kept.dtype);
}

}  // namespace sinter
