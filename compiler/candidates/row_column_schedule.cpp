#include "compiler/candidates/row_column_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "compiler/body/access.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/tiling/kernel_kind.h"

namespace sinter {

namespace {

constexpr std::size_t kMostSchedules = 12;
/// The last blocks join splits by two steps, each of which a thread unrolls.
constexpr std::int64_t kMaxCombinedSplits = 4096;

std::int64_t bit_floor(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(value)));
}

/// How the threads of one row deal it out.
struct Row {
  int cluster = 1;  ///< blocks that share it
  int threads = 1;  ///< of each
  int vector = 4;
  int groups = 1;
  std::int64_t held = 0;  ///< elements of a thread
};

constexpr double kNever = 1e30;

struct Timed {
  Schedule schedule;
  double seconds = kNever;  ///< as predicted
};

class RowColumnCandidates {
 public:
  RowColumnCandidates(const Body& body, const Target& target, const Facts& facts)
      : body_(body),
        target_(target),
        along_(tree_of(evaluate(body.reduced_size(), facts.symbols))),
        over_(tree_of(evaluate(body.parallel_size(), facts.symbols))),
        plan_(loads_ahead(body) ? plan_loaded_passes(body) : plan_resident_passes(body)) {
    for (const int kept : plan_.kept) {
      const Value& value = body.values[static_cast<std::size_t>(kept)];
      const bool is_load = value.kind == Value::Kind::load;
      if (is_load && loads_ahead(body) && !is_same_in_rows(body, value))
        loaded_bytes_ += size_of(value.dtype);
      else if (is_load && !loads_ahead(body))
        fixed_bytes_ += size_of(value.dtype);
      else  // what all rows have in common is converted in front of the loop over them
        fixed_bytes_ += size_of(info(value.dtype).compute);
    }
    for (int pass = 0; pass < body.passes(); ++pass) {
      std::int64_t words = 0;
      for (const BodyReduction& reduction : body.reductions)
        if (reduction.stage == pass) words += state_bytes(*reduction.node) / 4;
      accumulator_words_ = std::max(accumulator_words_, words);
      reducing_passes_ += words > 0;
    }
    for (const BodyReduction& column : body.columns) state_bytes_ += state_bytes(*column.node);
    fixed_bytes_ += state_bytes_;
    element_bytes_ = static_cast<double>(loaded_bytes_);
    for (const BodyStore& store : body.stores)
      if (store.varies) element_bytes_ += size_of(store.node->dtype);
    for (const Value& value : body.values)
      if (value.kind == Value::Kind::load && value.varies)
        largest_ = std::max(largest_, size_of(value.dtype));
  }

  std::vector<Schedule> make() {
    for (const Row& row : rows())
      for (const int ahead : {1, 2, 4}) add(row, ahead);
    std::ranges::stable_sort(list_, {}, &Timed::seconds);
    std::vector<Schedule> result;
    std::size_t joining = 0;
    for (const Timed& timed : list_) {
      // Where a launch has other sections, blocks join no columns in clusters.
      if (timed.schedule.combines_columns && ++joining > kMostSchedules / 2) continue;
      if (result.size() < kMostSchedules) result.push_back(timed.schedule);
    }
    return result;
  }

 private:
  /// Of the smallest cluster whose registers have place for a row, and of one twice as large where
  /// one block is too small.
  std::vector<Row> rows() const {
    std::vector<Row> result;
    const std::int64_t most = std::min<std::int64_t>(target_.max_cluster, along_.parts);
    for (int cluster = 1; cluster <= most; cluster *= 2) {
      const bool has_smaller = !result.empty();
      if (has_smaller && result[0].cluster == 1) break;
      std::vector<Row> of_cluster;
      for (const int vector : {largest_ <= 2 ? 8 : 4, 4})
        for (const int threads : {8, 16, 32, 64, 128, 256, 512, 1024})
          if (const std::optional<Row> row = row_of(cluster, threads, vector))
            if (std::ranges::find(of_cluster, row->threads, &Row::threads) == of_cluster.end())
              of_cluster.push_back(*row);
      result.insert(result.end(), of_cluster.begin(), of_cluster.end());
      if (has_smaller) break;
    }
    return result;
  }

  std::optional<Row> row_of(int cluster, int threads, int vector) const {
    constexpr int kLeastThreadsOfCluster = 256;
    if (cluster > 1 && threads < kLeastThreadsOfCluster) return std::nullopt;
    const int chunks = vector / static_cast<int>(kChunk);
    if (along_.accumulators < chunks) return std::nullopt;
    if (chunks > 1 && along_.parts > 1 && along_.chunks_per_part % chunks != 0) return std::nullopt;
    const std::int64_t parts = along_.parts / cluster;
    Row row{.cluster = cluster, .vector = vector};
    row.groups = static_cast<int>(std::min<std::int64_t>(parts, std::max(1, threads / 32)));
    row.threads = static_cast<int>(
        std::min<std::int64_t>(threads, along_.accumulators / chunks * row.groups));
    const std::int64_t stride = std::int64_t{row.threads / row.groups} * chunks;
    const std::int64_t tiles = (along_.chunks_per_part + stride - 1) / stride;
    row.held = tiles * vector * (parts / row.groups);
    if (!finds_registers(row, 1, row.threads)) return std::nullopt;
    return row;
  }

  /// What a thread takes with `ahead` rows under way.
  std::int64_t registers(const Row& row, int ahead) const {
    constexpr std::int64_t kForTheRest = 22;
    constexpr std::int64_t kForRows = 8;
    constexpr std::int64_t kForMoreSums = 8;
    constexpr std::int64_t kForGuards = 24;  // of vectors that may end early
    return row.held * (fixed_bytes_ + ahead * loaded_bytes_) / 4 + kForTheRest + kForRows * ahead +
           (along_.extent % row.vector == 0 ? 0 : kForGuards) +
           kForMoreSums * (static_cast<std::int64_t>(body_.columns.size()) - 1) +
           accumulator_words_ * along_.accumulators * row.groups / row.threads;
  }
  /// NVRTC takes up to a third more than what is estimated, and mostly less than that.
  static std::int64_t with_margin(std::int64_t registers) { return registers * 5 / 4; }
  /// Blocks of a cluster, and more rows than make 128 threads, only where they surely find theirs.
  bool finds_registers(const Row& row, int ahead, int threads) const {
    constexpr int kMostEstimated = 192;
    const std::int64_t estimated = registers(row, ahead);
    const std::int64_t most = target_.registers_per_sm / threads;
    const bool has_margin = row.cluster > 1 || (threads > 128 && threads > row.threads);
    return estimated <= kMostEstimated && (has_margin ? with_margin(estimated) : estimated) <= most;
  }
  int blocks_with_registers(const Row& row, const Schedule& schedule) const {
    const std::int64_t registers =
        std::min<std::int64_t>(with_margin(this->registers(row, schedule.unroll)),
                               target_.registers_per_sm / schedule.threads);
    return blocks_per_sm(target_, schedule.threads, static_cast<int>(registers),
                         shared_bytes(row, schedule));
  }

  /// `ahead` rows are loaded at once. The best of each kind: the prediction knows little of what
  /// tells kinds apart.
  void add(const Row& row, int ahead) {
    if (!loads_ahead(body_) && ahead > 1) return;
    constexpr int kOfOneKind = 2;
    std::array<Timed, kOfOneKind> alone;
    std::array<Timed, 1> joining;
    for (const int threads : {128, 256, 512}) {
      // More rows to a block only where clusters share none.
      if (threads > 128 && (row.cluster > 1 || row.threads >= threads)) continue;
      const int together = rows_together(row, threads);
      if (!finds_registers(row, ahead, together * row.threads)) continue;
      int before = 0;
      for (const int scale : {1, 2, 4, 8}) {
        Schedule schedule = schedule_of(row, ahead, scale, together);
        if (std::exchange(before, schedule.splits) == schedule.splits) continue;
        keep(alone, row, schedule);
        if (row.cluster > 1) continue;
        // Pairs of SMs are everywhere; the largest clusters leave the fewest states.
        schedule.combines_columns = true;
        for (const int cluster : {2, target_.max_cluster}) {
          schedule.cluster = cluster;
          if (cluster <= std::min(target_.max_cluster, blocks_of(schedule)) && cluster > 1)
            keep(joining, row, schedule);
        }
      }
    }
    for (const std::span<const Timed> kept : {std::span<const Timed>(alone), {joining}})
      for (const Timed& timed : kept)
        if (timed.seconds < kNever) list_.push_back(timed);
  }

  /// `schedule` is among the best of its kind, unless as many others are better.
  void keep(std::span<Timed> best, const Row& row, const Schedule& schedule) const {
    Timed next = timed(row, schedule);
    for (Timed& known : best)
      if (next.seconds < known.seconds) std::swap(next, known);
  }

  /// Whole warps, where some splits may have no rows; then what there is for `threads` threads.
  int rows_together(const Row& row, int threads) const {
    return static_cast<int>(
        std::max<std::int64_t>({std::min<std::int64_t>(threads / row.threads, most_splits()),
                                (32 + row.threads - 1) / row.threads, 1}));
  }
  std::int64_t most_splits() const {
    return std::min(over_.parts * over_.accumulators, kMaxCombinedSplits);
  }

  /// About `scale` blocks to an SM.
  Schedule schedule_of(const Row& row, int ahead, int scale, int together) const {
    Schedule schedule{.threads = together * row.threads,
                      .vector = row.vector,
                      .unroll = ahead,
                      .threads_per_row = row.threads,
                      .rows_per_block = together,
                      .groups = row.groups,
                      .resident = body_.passes() > 1,
                      .cluster = row.cluster};
    const std::int64_t least = std::max<std::int64_t>(over_.parts, together);
    schedule.splits =
        static_cast<int>(std::clamp(bit_floor(target_.sm_count) * scale * together / row.cluster,
                                    least, std::max(most_splits(), least)));
    return schedule;
  }

  /// What a schedule takes, roughly.
  Timed timed(const Row& row, Schedule schedule) const {
    const int there = blocks_with_registers(row, schedule);
    const int sms = sms_with_clusters(schedule.cluster);
    if (there == 0 || sms == 0) return {.schedule = std::move(schedule)};
    const int wanted = (blocks_of(schedule) + sms - 1) / sms;
    // Where clusters find fewer SMs than there are, more blocks to each must find their registers.
    if (schedule.cluster > 1) schedule.blocks_per_sm = std::min(there, wanted);
    const double turns = (wanted + there - 1) / there;
    const double seconds =
        seconds_of_rows(row, schedule, turns) + seconds_of_states(schedule, turns);
    return {.schedule = std::move(schedule), .seconds = seconds};
  }

  /// Rows under way against what they take, and the bytes.
  double seconds_of_rows(const Row& row, const Schedule& schedule, double turns) const {
    constexpr double kLoads = 1e-6;     // until what is loaded is there
    constexpr double kPass = 0.3e-6;    // a pass over a row, with a reduction of the block
    constexpr double kMoreRows = 0.05;  // of a pass, where twice as many rows wait for it
    constexpr double kElement = 15e-9;  // of a thread
    const double rows = static_cast<double>(over_.extent) / schedule.splits;
    const double rounds = std::ceil(rows / kChunk) * kChunk / schedule.unroll;
    const double waits = 1 + kMoreRows * std::bit_width(static_cast<unsigned>(
                                             row.threads > 32 ? schedule.rows_per_block / 2 : 0));
    const double per_row = kPass * waits * body_.passes() +
                           (row.cluster > 1 ? kClusterBarrierSeconds * reducing_passes_ : 0) +
                           kElement * static_cast<double>(row.held);
    const double waiting = turns * rounds * (kLoads + per_row * schedule.unroll);
    const double bytes = element_bytes_ * static_cast<double>(over_.extent * along_.extent);
    const double busy = std::min(1.0, static_cast<double>(blocks_of(schedule)) / target_.sm_count);
    return std::max(waiting, bytes / (target_.bandwidth * busy));
  }

  /// What is done with the states when the rows are done.
  double seconds_of_states(const Schedule& schedule, double turns) const {
    constexpr double kJoinBandwidth = 80e9;  // of one block
    constexpr double kShared = 150e9;        // of one block
    constexpr double kTicket = 1e-6;
    const double states = static_cast<double>(along_.extent * state_bytes_);
    const int left = states_left(schedule);
    const int per_group = states_per_group(schedule);
    double seconds = 2 * kTicket + 2 * states * left / target_.bandwidth +
                     states * (per_group + left / per_group) / (kJoinBandwidth * schedule.cluster);
    if (schedule.rows_per_block > 1)
      seconds += turns * 2 * states * schedule.rows_per_block / kShared;
    if (schedule.combines_columns) seconds += turns * 2 * (states / kShared + kClusterBarrierSeconds);
    return seconds;
  }

  /// Clusters do not reach beyond the SMs of one GPC, which are 18 at most: what these leave over
  /// has no work.
  int sms_with_clusters(int cluster) const {
    constexpr int kOfGpc = 18;
    const int rest = target_.sm_count % kOfGpc;
    return target_.sm_count - target_.sm_count / kOfGpc * (kOfGpc % cluster) - rest % cluster;
  }

  std::int64_t shared_bytes(const Row& row, const Schedule& schedule) const {
    constexpr std::int64_t kWidestExchange = 24 * 2;
    return state_bytes_ * states_in_shared(over_, schedule, row.held, along_.extent) +
           kWidestExchange * (schedule.threads * (row.vector / kChunk) + row.cluster);
  }

  const Body& body_;
  const Target& target_;
  Tree along_;
  Tree over_;
  PassPlan plan_;
  // Of each element that a thread holds:
  std::int64_t state_bytes_ = 0;   ///< of its column
  std::int64_t fixed_bytes_ = 0;   ///< that, and what it keeps besides the loads of a row
  std::int64_t loaded_bytes_ = 0;  ///< the loads of a row
  int largest_ = 1;
  int reducing_passes_ = 0;
  std::int64_t accumulator_words_ = 0;  ///< of one accumulator, in the pass that reduces most
  double element_bytes_ = 0;            ///< loaded and stored, as far as rows differ in it
  std::vector<Timed> list_;
};

}  // namespace

bool loads_ahead(const Body& body) { return body.indirect.empty(); }

int waiting_levels(const Tree& over_rows, std::int64_t splits) {
  const std::int64_t turns =
      std::max<std::int64_t>(over_rows.parts * over_rows.accumulators / splits, 1);
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(turns))) - 1;
}

int blocks_of(const Schedule& schedule) {
  return schedule.splits / schedule.rows_per_block * schedule.blocks_per_row();
}

int states_left(const Schedule& schedule) { return blocks_of(schedule) / schedule.cluster; }

int states_per_group(const Schedule& schedule) {
  constexpr int kShort = 32;
  const int left = states_left(schedule);
  int result = 1;
  // Two steps of as many joins each, unless one step is short.
  while (result < left && (left <= kShort || std::int64_t{result} * result < left)) result *= 2;
  return result;
}

std::int64_t states_in_shared(const Tree& over_rows, const Schedule& schedule, std::int64_t held,
                              std::int64_t columns) {
  const std::int64_t waiting = waiting_levels(over_rows, schedule.splits) * held * schedule.threads;
  const bool hands_over = schedule.rows_per_block > 1 || schedule.combines_columns;
  return std::max(waiting, hands_over ? schedule.rows_per_block * columns : 0);
}

std::vector<Schedule> row_column_candidates(const Body& body, const Target& target,
                                            const Facts& facts) {
  return RowColumnCandidates(body, target, facts).make();
}

std::string row_column_refusal(const Body& body, const Target& target, const Facts& facts) {
  if (body.columns.empty()) return {};
  if (!body.finals.empty())
    return "a kernel reduces over all rows either one value of each or their columns";
  const std::int64_t rows = evaluate(body.parallel_size(), facts.symbols);
  if (rows == 0) return "there is no row, and so no last block";
  if (!body.reduced_size().is_number())
    return fmt::format("a thread holds its columns in registers, but how many {} are is not known",
                       to_string(body.reduced_size()));
  if (is_contiguous_across_rows(body, facts))
    return "neighbouring elements in memory belong to different rows";
  if (row_column_candidates(body, target, facts).empty())
    return fmt::format("rows of {} elements with {} sum{} for each column do not fit in registers",
                       body.reduced_size().number(), body.columns.size(),
                       body.columns.size() == 1 ? "" : "s");
  return {};
}

}  // namespace sinter
