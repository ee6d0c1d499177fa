#include "compiler/candidates/candidate_list.h"

#include <algorithm>

#include "compiler/body/access.h"
#include "compiler/body/footprint.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/size_class.h"
#include "ir/support/round_up.h"

namespace sinter {

void CandidateList::add(const Schedule& schedule) {
  if (list_.size() < limit_ && std::ranges::find(list_, schedule) == list_.end())
    list_.push_back(schedule);
}

std::optional<Schedule> distribute_row(const Body& body, const Facts& facts, const Tree& tree,
                                       int threads, Schedule schedule) {
  const int chunks = schedule.vector / static_cast<int>(kChunk);
  if (tree.accumulators < chunks) return std::nullopt;
  if (chunks > 1 && tree.parts > 1 &&
      evaluate(chunks_per_part(body.reduced_size(), tree.parts), facts.symbols) % chunks != 0)
    return std::nullopt;
  threads = std::clamp(threads, 1, 1024);
  schedule.groups = schedule.splits_rows
                        ? 1
                        : static_cast<int>(std::min<std::int64_t>(tree.parts / schedule.cluster,
                                                                  std::max(1, threads / 32)));
  // Threads beyond the number of accumulators would be idle.
  schedule.threads_per_row =
      std::min(threads, static_cast<int>(tree.accumulators / chunks) * schedule.groups);
  return schedule;
}

std::int64_t vectors_per_thread(const Tree& tree, const Schedule& schedule) {
  const std::int64_t per_part =
      std::int64_t{schedule.threads_per_row / schedule.groups} * (schedule.vector / kChunk);
  const std::int64_t tiles = divide_up(tree.chunks_per_part, per_part);
  return tiles * (tree.parts / (schedule.groups * schedule.blocks_per_row()));
}

int largest_element_along(const Body& body, int axis, const TiledAccesses& tiled) {
  int largest = 1;
  const auto add = [&](const Index& at, DType dtype) {
    if (axis < 0 || depends_on(at, axis)) largest = std::max(largest, size_of(dtype));
  };
  for (std::size_t i = 0; i < body.values.size(); ++i)
    if (body.values[i].kind == Value::Kind::load && !tiled.has_load(static_cast<int>(i)))
      add(body.values[i].at, body.values[i].dtype);
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

int instructions_per_position(const Body& body) {
  int instructions = 0;
  for (const Value& value : body.values)
    if (value.kind == Value::Kind::op) instructions += instructions_of(value.node->op);
  for (const BodyReduction& reduction : body.reductions)
    instructions += instructions_of(reduction.node->op);
  return instructions;
}

bool has_heavy_state(const Body& body) {
  return std::ranges::any_of(body.reductions, [](const BodyReduction& reduction) {
    return reduction.node->op == Op::welford || reduction.node->op == Op::logsumexp;
  });
}

std::int64_t widest_state(const Body& body) {
  std::int64_t widest = 8;
  for (const BodyReduction& reduction : body.reductions)
    widest = std::max<std::int64_t>(widest, state_bytes(*reduction.node));
  return widest;
}

}  // namespace sinter
