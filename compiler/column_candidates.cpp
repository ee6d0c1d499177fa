#include "compiler/column_candidates.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "compiler/access.h"
#include "compiler/candidate_list.h"
#include "compiler/cost.h"
#include "compiler/tree.h"
#include "compiler/vector_use.h"

namespace sinter {

namespace {

/// Bytes of an element of everything that is loaded row by row.
std::int64_t loaded_bytes(const Body& body) {
  std::int64_t bytes = 0;
  for (const Value& value : body.values)
    if (value.kind == Value::Kind::load && value.varies) bytes += size_of(value.dtype);
  return bytes;
}

/// A loop over so much work per element is not unrolled: its text would outgrow what it gains.
constexpr int kMostUnrolledInstructions = 16;

bool is_cheap(const Body& body) {
  int instructions = 0;
  for (const Value& value : body.values)
    if (value.kind == Value::Kind::op) instructions += instructions_of(value.node->op);
  for (const BodyReduction& reduction : body.reductions)
    instructions += instructions_of(reduction.node->op);
  return instructions <= kMostUnrolledInstructions;
}

/// Registers of a thread, roughly: what waits in the trees of the reductions (one state for each of
/// `levels`, and those that are joined), the `rows` of every load that are under way, and the rest
/// of the loop.
std::int64_t registers_of(const Body& body, int vector, std::int64_t levels, std::int64_t rows) {
  std::int64_t states = 0;
  bool is_heavy = false;
  for (const BodyReduction& reduction : body.reductions) {
    states += state_bytes(*reduction.node);
    is_heavy = is_heavy || reduction.node->op == Op::logsumexp;
  }
  return (is_heavy ? 48 : 32) + vector * (states * (levels + 2) + rows * loaded_bytes(body)) / 4;
}

/// Columns side by side in a block, and threads along the rows: enough of them, over all blocks, to
/// keep the memory busy.
class ColumnCandidates {
 public:
  ColumnCandidates(const Body& body, const Target& target, const Facts& facts)
      : body_(body),
        target_(target),
        sizes_(sizes_along(body, body.parallel_axes - 1)),
        is_cheap_(is_cheap(body)),
        tree_(tree_of(evaluate(body.reduced_size(), facts.symbols))),
        inner_(evaluate(body.space.extent(body.parallel_axes - 1), facts.symbols)),
        outer_(evaluate(body.parallel_size(), facts.symbols) / std::max<std::int64_t>(inner_, 1)) {
    const std::int64_t divisor = divisor_of(body.space.extent(body.parallel_axes - 1), facts);
    const int limit = static_cast<int>(std::min<std::int64_t>(16 / sizes_.largest, divisor));
    widest_ = useful_vector(body, body.parallel_axes - 1, limit, facts);
  }

  std::vector<Schedule> make() {
    for (int vector = widest_; vector >= 1; vector /= 2) {
      const int wide = side_by_side(vector);
      const int lanes = lanes_for(vector, wide);
      add(vector, lanes, wide);
      add(vector, lanes * 2, wide);
      add(vector, lanes / 2, wide);
      add(vector, lanes, wide * 2);
      add(vector, lanes * 2, wide / 2);
    }
    for (const int lanes : {16, 64, 512}) {
      const auto own = static_cast<int>(std::min<std::int64_t>(lanes, tree_.accumulators));
      add(1, own, std::max(1, 32 / own), list_.schedules().empty());
    }
    std::vector<Schedule> schedules = list_.take();
    std::ranges::stable_sort(schedules, std::ranges::greater(),
                             [&](const Schedule& schedule) { return bytes_in_flight(schedule); });
    for (Schedule& schedule : schedules) schedule.blocks_per_sm = planned_blocks(schedule);
    return schedules;
  }

 private:
  /// 128 bytes of a row, fewer where blocks would be too few for all SMs, but never less than the
  /// 32 that come together anyway.
  int side_by_side(int vector) const {
    const int bytes = vector * sizes_.largest;
    const auto there = static_cast<int>(
        std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(inner_ / vector, 1))));
    // Short columns have few threads each: more of them, so that blocks are not tiny.
    const int least = std::max(1, static_cast<int>(32 / tree_.accumulators));
    const int good = std::max(128 / bytes, static_cast<int>(128 / tree_.accumulators));
    int wide = std::max(std::min({good, there, 128}), least);
    while (wide > least && wide * bytes > 32 &&
           outer_ * inner_ / (std::int64_t{wide} * vector) < target_.sm_count)
      wide /= 2;
    return wide;
  }

  /// Each thread has four rows of every stream on their way.
  int lanes_for(int vector, int wide) const {
    const std::int64_t bytes =
        kChunk * vector * sizes_.largest * std::max<std::int64_t>(sizes_.streams, 1);
    const std::int64_t threads = target_.sm_count * target_.bytes_in_flight / bytes;
    const std::int64_t columns = std::max<std::int64_t>(outer_ * inner_ / vector, 1);
    const auto wanted = static_cast<std::uint64_t>(std::max<std::int64_t>(threads / columns, 1));
    return static_cast<int>(std::clamp<std::int64_t>(
        static_cast<std::int64_t>(std::bit_ceil(wanted)), 16, std::max(1024 / wide, 16)));
  }

  void add(int vector, int lanes, int side_by_side, bool is_last_resort = false) {
    if (lanes < 1 || side_by_side < 1) return;
    lanes = static_cast<int>(std::min<std::int64_t>(lanes, tree_.accumulators));
    int groups = 1;
    // Short of threads along the rows, parts are dealt out too.
    while (groups * 2 <= tree_.parts && lanes == tree_.accumulators &&
           lanes * side_by_side * groups * 2 <= 256)
      groups *= 2;
    const int threads = lanes * side_by_side * groups;
    if (threads > 1024 || threads < 32) return;
    Schedule schedule{.threads = threads,
                      .vector = vector,
                      .threads_per_row = lanes * groups,
                      .rows_per_block = side_by_side,
                      .groups = groups};
    // Two chunks of an accumulator at once, where it has more than one.
    if (is_cheap_ && tree_.chunks_per_part > tree_.accumulators) schedule.unroll = 2;
    if (shared_bytes(schedule) > target_.shared_per_block_opt_in) return;
    const bool fits = registers(schedule) <= most_registers(threads);
    if (fits || is_last_resort) list_.add(schedule);
  }

  std::int64_t most_registers(int threads) const {
    return std::min<std::int64_t>(target_.registers_per_sm / threads,
                                  target_.max_registers_per_thread);
  }

  std::int64_t registers(const Schedule& schedule) const {
    const int lanes = schedule.threads_per_row / schedule.groups;
    const auto levels = static_cast<std::int64_t>(
        std::bit_width(static_cast<std::uint64_t>(tree_.accumulators / lanes)) +
        std::bit_width(static_cast<std::uint64_t>(tree_.parts / schedule.groups)));
    return registers_of(body_, schedule.vector, levels, kChunk * schedule.unroll);
  }

  std::int64_t shared_bytes(const Schedule& schedule) const {
    return 2 * std::int64_t{schedule.threads} * schedule.vector * widest_state(body_);
  }

  /// Blocks for each SM, whether they fit or not.
  double blocks(const Schedule& schedule) const {
    const std::int64_t columns = std::int64_t{schedule.rows_per_block} * schedule.vector;
    return static_cast<double>(outer_ * ((inner_ + columns - 1) / columns)) / target_.sm_count;
  }

  int blocks_that_fit(const Schedule& schedule) const {
    const auto needed =
        static_cast<int>(std::min(registers(schedule), most_registers(schedule.threads)));
    return blocks_per_sm(target_, schedule.threads, needed, shared_bytes(schedule));
  }

  double bytes_per_block(const Schedule& schedule) const {
    return static_cast<double>(std::int64_t{schedule.threads} * schedule.vector * schedule.unroll *
                               kChunk * loaded_bytes(body_));
  }

  /// Of loads per SM, as far as the memory can make use of them.
  double bytes_in_flight(const Schedule& schedule) const {
    const double resident =
        std::min(blocks(schedule), static_cast<double>(blocks_that_fit(schedule)));
    const double bytes = resident * bytes_per_block(schedule);
    // Of a sector of 32 bytes all is moved, whatever a block makes use of.
    const int wide = schedule.rows_per_block * schedule.vector * sizes_.largest;
    return std::min(bytes * std::min(wide, 32) / 32, static_cast<double>(target_.bytes_in_flight));
  }

  /// The blocks that the compiler is to leave registers for; without being told it would rather
  /// spill than have fewer blocks, even if there are no more. 0: as it likes, since they may not
  /// fit.
  int planned_blocks(const Schedule& schedule) const {
    const double enough = std::ceil(static_cast<double>(target_.bytes_in_flight) /
                                    std::max(bytes_per_block(schedule), 1.0));
    const auto planned =
        static_cast<int>(std::max(std::min(std::ceil(blocks(schedule)), enough), 1.0));
    return planned <= blocks_that_fit(schedule) ? planned : 0;
  }

  const Body& body_;
  const Target& target_;
  Sizes sizes_;
  bool is_cheap_;
  Tree tree_;
  std::int64_t inner_;
  std::int64_t outer_;
  int widest_ = 1;
  CandidateList list_;
};

}  // namespace

std::vector<Schedule> column_candidates(const Body& body, const Target& target,
                                        const Facts& facts) {
  return ColumnCandidates(body, target, facts).make();
}

}  // namespace sinter
