#include "compiler/candidates/row_column_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "compiler/body/access.h"
#include "compiler/candidates/candidate_list.h"
#include "compiler/candidates/cpu_candidates.h"
#include "compiler/candidates/register_estimate.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/program/size_class.h"
#include "compiler/tiling/kernel_kind.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

constexpr double kImpossibleTime = 1e30;

struct Timed {
  Schedule schedule;
  double seconds = kImpossibleTime;  ///< as predicted
};

class RowColumnCandidates {
 public:
  RowColumnCandidates(const Body& body, const Target& target, const Facts& facts)
      : body_(body),
        target_(target),
        facts_(facts),
        row_length_(evaluate(body.reduced_size(), facts.symbols)),
        row_tree_(tree_of(class_of_residency(body.reduced_size(), facts).high)),
        column_tree_(tree_of(evaluate(body.parallel_size(), facts.symbols))) {
    const PassPlan plan =
        can_load_whole_rows(body) ? plan_loaded_passes(body) : plan_resident_passes(body);
    for (const int kept : plan.kept) {
      const Value& value = body.values[static_cast<std::size_t>(kept)];
      const bool is_load = value.kind == Value::Kind::load;
      if (is_load && can_load_whole_rows(body) && !is_same_in_rows(body, value))
        loaded_bytes_ += size_of(value.dtype);
      else if (is_load && !can_load_whole_rows(body))
        fixed_bytes_ += size_of(value.dtype);
      else  // values that all rows share are converted before the loop over the rows
        fixed_bytes_ += size_of(info(value.dtype).compute);
    }
    const std::vector<std::int64_t> bytes_of_pass = sums_by_pass(body, state_bytes);
    accumulator_registers_ = std::ranges::max(bytes_of_pass) / 4;
    reducing_passes_ = static_cast<int>(
        std::ranges::count_if(bytes_of_pass, [](std::int64_t bytes) { return bytes > 0; }));
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
    for (const Schedule& row : rows())
      for (const int ahead : {1, 2, 4}) add(row, ahead);
    std::ranges::stable_sort(list_, {}, &Timed::seconds);
    std::vector<Schedule> result;
    std::size_t combining = 0;
    for (const Timed& timed : list_) {
      // Sections of a fused launch need candidates that do not combine columns in clusters.
      if (timed.schedule.combines_columns && ++combining > kMaxCandidates / 2) continue;
      if (result.size() < kMaxCandidates) result.push_back(timed.schedule);
    }
    return result;
  }

 private:
  /// Tries the smallest cluster whose registers hold a row. If one block is too small, also tries a
  /// cluster twice as large.
  std::vector<Schedule> rows() const {
    std::vector<Schedule> result;
    const std::int64_t most = std::min<std::int64_t>(target_.max_cluster, row_tree_.parts);
    for (int cluster = 1; cluster <= most; cluster *= 2) {
      const bool has_smaller = !result.empty();
      if (has_smaller && result[0].cluster == 1) break;
      std::vector<Schedule> of_cluster;
      for (const int vector : {largest_ <= 2 ? 8 : 4, 4})
        for (const int threads : {8, 16, 32, 64, 128, 256, 512, 1024})
          if (const std::optional<Schedule> row = row_of(cluster, threads, vector))
            if (std::ranges::find(of_cluster, row->threads, &Schedule::threads) == of_cluster.end())
              of_cluster.push_back(*row);
      result.insert(result.end(), of_cluster.begin(), of_cluster.end());
      if (has_smaller) break;
    }
    return result;
  }

  /// A schedule of one row per block.
  std::optional<Schedule> row_of(int cluster, int threads, int vector) const {
    if (cluster > 1 && threads < kMinClusterThreads) return std::nullopt;
    std::optional<Schedule> row =
        distribute_row(body_, facts_, row_tree_, threads,
                       {.vector = vector, .resident = body_.passes() > 1, .cluster = cluster});
    if (!row) return std::nullopt;
    row->threads = row->threads_per_row;
    return fits_registers(*row) ? row : std::nullopt;
  }

  std::int64_t registers(const Schedule& schedule) const {
    return row_column_registers(body_, row_tree_, schedule,
                                fixed_bytes_ + schedule.unroll * loaded_bytes_,
                                accumulator_registers_, row_length_ % schedule.vector != 0);
  }
  /// Adds a quarter. NVRTC takes up to a third more than the estimate, but mostly less than that.
  static std::int64_t with_margin(std::int64_t registers) { return registers * 5 / 4; }
  /// True if the estimate fits. Clusters, and several rows in more than 128 threads, need the
  /// margin.
  bool fits_registers(const Schedule& schedule) const {
    constexpr int kMaxEstimate = 192;
    const std::int64_t estimated = registers(schedule);
    const std::int64_t most = target_.registers_per_sm / schedule.threads;
    const bool has_margin = schedule.blocks_per_row() > 1 ||
                            (schedule.threads > 128 && schedule.threads > schedule.threads_per_row);
    return estimated <= kMaxEstimate && (has_margin ? with_margin(estimated) : estimated) <= most;
  }

  /// Adds the fastest schedules of each kind: without and with columns combined in clusters. The
  /// prediction is too rough to compare the kinds. `ahead` rows are loaded at once.
  void add(const Schedule& row, int ahead) {
    if (!can_load_whole_rows(body_) && ahead > 1) return;
    constexpr int kPerKind = 2;
    std::array<Timed, kPerKind> alone;
    std::array<Timed, 1> combining;
    for (const int threads : {128, 256, 512}) {
      // Larger blocks are for several rows per block; clusters that share rows have one.
      if (threads > 128 && (row.cluster > 1 || row.threads >= threads)) continue;
      Schedule unsplit = row;
      unsplit.unroll = ahead;
      unsplit.rows_per_block = rows_per_block_of(row, threads);
      unsplit.threads *= unsplit.rows_per_block;
      if (!fits_registers(unsplit)) continue;
      int before = 0;
      for (const int scale : {1, 2, 4, 8}) {
        Schedule schedule = unsplit;
        schedule.splits = splits_of(unsplit, scale);
        if (std::exchange(before, schedule.splits) == schedule.splits) continue;
        keep(alone, schedule);
        if (row.cluster > 1) continue;
        // Pairs of SMs always exist; the largest clusters leave the fewest states.
        schedule.combines_columns = true;
        for (const int cluster : {2, target_.max_cluster}) {
          schedule.cluster = cluster;
          if (cluster <= std::min(target_.max_cluster, blocks_of(schedule)) && cluster > 1)
            keep(combining, schedule);
        }
      }
    }
    for (const std::span<const Timed> kept : {std::span<const Timed>(alone), {combining}})
      for (const Timed& timed : kept)
        if (timed.seconds < kImpossibleTime) list_.push_back(timed);
  }

  /// Inserts `schedule` into the `best` of its kind, unless all of them are faster.
  void keep(std::span<Timed> best, const Schedule& schedule) const {
    Timed next = timed(schedule);
    for (Timed& known : best)
      if (next.seconds < known.seconds) std::swap(next, known);
  }

  /// Rows per block: as many as fit `threads` threads and there are splits, but at least a warp.
  /// Some splits may then have no rows.
  int rows_per_block_of(const Schedule& row, int threads) const {
    return static_cast<int>(
        std::max<std::int64_t>({std::min<std::int64_t>(threads / row.threads, max_splits()),
                                divide_up(32, row.threads), 1}));
  }
  std::int64_t max_splits() const {
    return std::min(column_tree_.parts * column_tree_.accumulators, kMaxCombinedSplits);
  }

  /// The number of splits for about `scale` blocks per SM.
  int splits_of(const Schedule& schedule, int scale) const {
    const std::int64_t least = std::max<std::int64_t>(column_tree_.parts, schedule.rows_per_block);
    return static_cast<int>(
        std::clamp(bit_floor(target_.sm_count) * scale * schedule.rows_per_block / schedule.cluster,
                   least, std::max(max_splits(), least)));
  }

  /// Predicts the time of a schedule, roughly.
  Timed timed(Schedule schedule) const {
    const std::int64_t registers = std::min<std::int64_t>(
        with_margin(this->registers(schedule)), target_.registers_per_sm / schedule.threads);
    const int resident = blocks_per_sm(target_, schedule.threads, static_cast<int>(registers),
                                       shared_bytes(schedule));
    // Clusters may leave some SMs of a GPC idle.
    const int sms = clusters_at_once(target_, schedule.cluster) * schedule.cluster;
    if (resident == 0 || sms == 0) return {.schedule = std::move(schedule)};
    const int wanted = divide_up(blocks_of(schedule), sms);
    // Clusters may not reach all SMs. The SMs that they reach then need registers for more blocks.
    if (schedule.cluster > 1) schedule.blocks_per_sm = std::min(resident, wanted);
    const double waves = divide_up(wanted, resident);
    const double seconds = seconds_of_rows(schedule, waves) + seconds_of_states(schedule, waves);
    return {.schedule = std::move(schedule), .seconds = seconds};
  }

  /// The time of the rows: the larger of their latency, with several in flight, and the transfer of
  /// their bytes.
  double seconds_of_rows(const Schedule& schedule, double waves) const {
    constexpr double kLoads = 1e-6;     // latency of a load
    constexpr double kPass = 0.3e-6;    // a pass over a row, with a reduction of the block
    constexpr double kMoreRows = 0.05;  // of a pass, per doubling of the rows that wait for it
    constexpr double kElement = 15e-9;  // of a thread
    const double rows = static_cast<double>(column_tree_.extent) / schedule.splits;
    const double rounds = std::ceil(rows / kChunk) * kChunk / schedule.unroll;
    const double waits =
        1 + kMoreRows * std::bit_width(static_cast<unsigned>(
                            schedule.threads_per_row > 32 ? schedule.rows_per_block / 2 : 0));
    const double per_row =
        kPass * waits * body_.passes() +
        (schedule.blocks_per_row() > 1 ? target_.cluster_barrier_seconds * reducing_passes_ : 0) +
        kElement * static_cast<double>(held(schedule));
    const double waiting = waves * rounds * (kLoads + per_row * schedule.unroll);
    const double bytes =
        element_bytes_ * static_cast<double>(column_tree_.extent * row_tree_.extent);
    const double busy = std::min(1.0, static_cast<double>(blocks_of(schedule)) / target_.sm_count);
    return std::max(waiting, bytes / (target_.bandwidth * busy));
  }

  /// The time to combine the column states after all rows.
  double seconds_of_states(const Schedule& schedule, double waves) const {
    constexpr double kShared = 150e9;  // kCombineBandwidth, but through shared memory
    constexpr double kLastBlockTicket = 1e-6;
    const double states = static_cast<double>(row_tree_.extent * state_bytes_);
    const int count = workspace_states(schedule);
    const int per_group = states_per_group(schedule);
    double seconds =
        2 * kLastBlockTicket + 2 * states * count / target_.bandwidth +
        states * (per_group + count / per_group) / (kCombineBandwidth * schedule.cluster);
    if (schedule.rows_per_block > 1)
      seconds += waves * 2 * states * schedule.rows_per_block / kShared;
    if (schedule.combines_columns)
      seconds += waves * 2 * (states / kShared + target_.cluster_barrier_seconds);
    return seconds;
  }

  /// Elements of a row that a thread holds.
  std::int64_t held(const Schedule& schedule) const {
    return vectors_per_thread(row_tree_, schedule) * schedule.vector;
  }

  std::int64_t shared_bytes(const Schedule& schedule) const {
    constexpr std::int64_t kWidestExchange = 24 * 2;
    return state_bytes_ *
               states_in_shared(column_tree_, schedule, held(schedule), row_tree_.extent) +
           kWidestExchange *
               (schedule.threads * (schedule.vector / kChunk) + schedule.blocks_per_row());
  }

  const Body& body_;
  const Target& target_;
  const Facts& facts_;
  std::int64_t row_length_;
  Tree row_tree_;  ///< of the longest row of the size class
  Tree column_tree_;
  // Bytes per element that a thread holds:
  std::int64_t state_bytes_ = 0;   ///< states of its column
  std::int64_t fixed_bytes_ = 0;   ///< these states, and kept values that are no loads of a row
  std::int64_t loaded_bytes_ = 0;  ///< loads of a row
  int largest_ = 1;
  int reducing_passes_ = 0;
  std::int64_t accumulator_registers_ = 0;  ///< of one accumulator, in the pass that reduces most
  double element_bytes_ = 0;                ///< moved per element, if it differs between rows
  std::vector<Timed> list_;
};

}  // namespace

bool can_load_whole_rows(const Body& body) { return body.indirect.empty(); }

int pending_levels(const Tree& column_tree, std::int64_t splits) {
  const std::int64_t per_split =
      std::max<std::int64_t>(column_tree.parts * column_tree.accumulators / splits, 1);
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(per_split))) - 1;
}

int blocks_of(const Schedule& schedule) {
  return schedule.splits / schedule.rows_per_block * schedule.blocks_per_row();
}

int workspace_states(const Schedule& schedule) { return blocks_of(schedule) / schedule.cluster; }

int states_per_group(const Schedule& schedule) {
  constexpr int kShort = 32;
  const int count = workspace_states(schedule);
  int result = 1;
  // Two steps of equal length, or a single step for few states.
  while (result < count && (count <= kShort || std::int64_t{result} * result < count)) result *= 2;
  return result;
}

std::int64_t states_in_shared(const Tree& column_tree, const Schedule& schedule, std::int64_t held,
                              std::int64_t columns) {
  const std::int64_t pending =
      pending_levels(column_tree, schedule.splits) * held * schedule.threads;
  const bool exchanges_states = schedule.rows_per_block > 1 || schedule.combines_columns;
  return std::max(pending, exchanges_states ? schedule.rows_per_block * columns : 0);
}

std::vector<Schedule> row_column_candidates(const Body& body, const Target& target,
                                            const Facts& facts) {
  if (target.is_cpu) return cpu_candidates(KernelKind::row_column_reduce, body, target, facts);
  return RowColumnCandidates(body, target, facts).make();
}

std::string row_column_refusal(const Body& body, const Target& target, const Facts& facts) {
  if (body.columns.empty()) return {};
  if (!body.finals.empty())
    return "one kernel cannot reduce over all rows both one value per row and whole columns";
  const std::int64_t rows = evaluate(body.parallel_size(), facts.symbols);
  if (rows == 0) return "there are no rows, so no last block can finish";
  if (is_contiguous_across_rows(body, facts))
    return "adjacent elements in memory belong to different rows";
  if (row_column_candidates(body, target, facts).empty())
    return fmt::format("rows of {} elements with {} sum{} per column do not fit in registers",
                       class_of_residency(body.reduced_size(), facts).high, body.columns.size(),
                       body.columns.size() == 1 ? "" : "s");
  return {};
}

}  // namespace sinter
