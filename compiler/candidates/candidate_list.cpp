#include "compiler/candidates/candidate_list.h"

#include <algorithm>

#include "compiler/body/access.h"
#include "compiler/body/footprint.h"
#include "compiler/program/op_cost.h"

namespace sinter {

void CandidateList::add(const Schedule& schedule) {
  if (list_.size() < limit_ && std::ranges::find(list_, schedule) == list_.end())
    list_.push_back(schedule);
}

int largest_element_along(const Body& body, int axis) {
  int largest = 1;
  const auto add = [&](const Index& at, DType dtype) {
    if (axis < 0 || depends_on(at, axis)) largest = std::max(largest, size_of(dtype));
  };
  for (const Value& value : body.values)
    if (value.kind == Value::Kind::load) add(value.at, value.dtype);
  for (const BodyStore& store : body.stores) add(store.at, store.node->dtype);
  return largest;
}

int full_loads(const Body& body) {
  const Extent positions = body.parallel_size() * body.reduced_size();
  return static_cast<int>(std::ranges::count_if(body.values, [&](const Value& value) {
    return value.kind == Value::Kind::load && footprint_of(body, value).elements == positions;
  }));
}

double moved_bytes(const Body& body, const Facts& facts) {
  double bytes = 0;
  for (const Value& value : body.values)
    if (value.kind == Value::Kind::load)
      bytes += bytes_of(footprint_of(body, value).elements, value.dtype, facts);
  for (const BodyStore& store : body.stores)
    bytes += bytes_of(stored_elements(body, store), store.node->dtype, facts);
  return bytes;
}

std::int64_t widest_state(const Body& body) {
  std::int64_t widest = 8;
  for (const BodyReduction& reduction : body.reductions)
    widest = std::max<std::int64_t>(widest, state_bytes(*reduction.node));
  return widest;
}

}  // namespace sinter
