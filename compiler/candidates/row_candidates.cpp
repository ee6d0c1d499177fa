#include "compiler/candidates/candidate_list.h"

#include <algorithm>
#include <optional>

#include "compiler/body/access.h"
#include "compiler/candidates/register_estimate.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/program/size_class.h"
#include "compiler/target/wave_quantization.h"
#include "compiler/tiling/row_residency.h"
#include "compiler/tiling/row_staging.h"
#include "compiler/tiling/row_store_tiles.h"
#include "compiler/tiling/vector_width.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

/// Threads per row by its length (QuACK's ladder).
int ladder(std::int64_t extent) {
  if (extent <= 64) return 8;
  if (extent <= 128) return 16;
  if (extent <= 3072) return 32;
  if (extent <= 6144) return 64;
  if (extent <= 16384) return 128;
  return 256;
}

constexpr std::int64_t kResidentRegisters = 64;         ///< of a thread, for its share of a row
constexpr std::int64_t kMaxAccumulatorRegisters = 128;  ///< with more they spill
constexpr int kDefaultThreads = 128;                    ///< of a block
constexpr int kMaxResidentThreads = 512;
/// Registers of a thread that loops over its row: at least, for its loads in flight, in total.
constexpr int kMinLoopRegisters = 64;
constexpr std::int64_t kMaxLoadRegisters = 64;
constexpr std::int64_t kMaxThreadRegisters = 255;
/// Minimum bytes of a row per block, if fewer blocks could keep the row.
constexpr std::int64_t kMinClusterShareBytes = 16 << 10;

class RowCandidates {
 public:
  RowCandidates(const Body& body, const Target& target, const Facts& facts, bool split)
      : body_(body),
        target_(target),
        facts_(facts),
        split_(split),
        may_stay_resident_(body.passes() > 1),
        extent_(may_stay_resident_ ? class_of_residency(body.reduced_size(), facts).high
                                   : evaluate(body.reduced_size(), facts.symbols)),
        rows_(evaluate(body.parallel_size(), facts.symbols)),
        tree_(tree_of(extent_)),
        plan_(may_stay_resident_ ? plan_resident_passes(body) : plan_passes(body)),
        registers_(body, tree_, plan_, facts),
        state_bytes_(widest_state(body)) {
    if (extent_ < kMinBytesPerBlock)
      row_bytes_ =
          static_cast<std::int64_t>(moved_bytes(body, facts)) / std::max<std::int64_t>(rows_, 1);
    if (!may_stay_resident_) return;
    shared_slot_bytes_ = kept_slots(body, plan_).bytes_per_element();
    for (const StagedRow& row : staged_rows(body, plan_, facts))
      staged_bytes_ += staged_bytes(body, row, kMaxRowVector, facts);
  }

  std::vector<Schedule> make() {
    const bool is_narrow = largest_element_along(body_, body_.reduced_axis()) <= 2;
    const int wide = is_narrow && !is_better_narrow() ? 8 : 4;
    add_clusters(wide);
    const int first =
        in_whole_waves(split_ ? 256 : std::max(ladder(extent_), threads_for_residency(1)), wide);
    add_tiles(first, wide);
    add(first, wide, kDefaultThreads);
    add(first, 4, kDefaultThreads);
    for (int cluster = filling_cluster() / 2; cluster > 1; cluster /= 2)
      add_if_resident(wide, cluster, false);
    if (!list_.schedules().empty()) {
      add_register_clusters(wide);
      add_large_cluster(wide);
    }
    for (const int vector : {wide, 4})
      for (const int scale : {2, 4})
        for (const bool more : {true, false})
          add(more ? first * scale : first / scale, vector, kDefaultThreads, !more);
    add(first, wide, 256);
    add(first, wide, 512);
    if (std::vector<Schedule> result = list_.take(); !result.empty()) {
      for (Schedule& schedule : result) reserve_one_wave(schedule);
      return result;
    }
    return {{.threads = 32, .vector = 4, .rows_per_block = 32}};
  }

 private:
  /// Split rows have so many blocks that a few registers decide whether all run at once. Reserves
  /// registers for no more than that if the estimate permits it.
  void reserve_one_wave(Schedule& schedule) const {
    constexpr std::int64_t kMostRegisters = 40;  // with more, fewer blocks are enough
    if (!split_ || rows_ == 0 || schedule.blocks_per_sm > 0) return;
    const auto wanted =
        static_cast<int>(divide_up<std::int64_t>(rows_ * tree_.parts, target_.sm_count));
    const std::int64_t available = target_.registers_per_sm / schedule.threads / wanted;
    if (available > kMostRegisters || wanted * schedule.threads > target_.max_threads_per_sm)
      return;
    if (registers_.of_thread(schedule, registers_.of_data(schedule)) <= available)
      schedule.blocks_per_sm = wanted;
  }

  /// `threads_per_row`, or twice or half of it if the last of few waves then takes less time.
  int in_whole_waves(int threads_per_row, int vector) const {
    std::vector<int> numbers;
    std::vector<Grid> grids;
    std::optional<Schedule> first;
    for (const int threads : {threads_per_row, 2 * threads_per_row, threads_per_row / 2}) {
      const std::optional<Schedule> made = schedule_of(threads, vector, kDefaultThreads, 1);
      const bool is_like_first = made && made->resident == may_stay_resident_ && !made->in_shared &&
                                 (!first || made->rows_per_block == first->rows_per_block);
      if (is_like_first) {
        if (!first) first = made;
        numbers.push_back(threads);
        grids.push_back(grid_of(*made));
      } else if (!first) {
        return threads_per_row;
      }
    }
    return numbers[best_in_waves(target_, grids)];
  }

  /// The grid of `schedule`, with estimated registers.
  Grid grid_of(const Schedule& schedule) const {
    const std::int64_t words = registers_.of_data(schedule);
    const std::int64_t blocks =
        split_ ? rows_ * tree_.parts : divide_up<std::int64_t>(rows_, schedule.rows_per_block);
    if (schedule.blocks_per_sm > 0)  // a bound for the compiler
      return {
          .blocks_per_sm = static_cast<double>(blocks) / target_.sm_count,
          .resident = schedule.blocks_per_sm,
          .bytes_in_flight = static_cast<double>(std::int64_t{schedule.threads} * schedule.unroll *
                                                 schedule.vector * registers_.read_bytes())};
    return {.blocks_per_sm = static_cast<double>(blocks) / target_.sm_count,
            .resident = blocks_per_sm(target_, schedule.threads,
                                      static_cast<int>(registers_.of_thread(schedule, words)),
                                      shared_bytes(schedule)),
            .bytes_in_flight = static_cast<double>(schedule.threads * words * 4)};
  }

  /// True if vectors of 4 take fewer instructions than those of 8, or as many but fewer narrow
  /// ones.
  bool is_better_narrow() const {
    const VectorAccesses by_4 = accesses_along(body_, body_.reduced_axis(), 4, facts_);
    const VectorAccesses by_8 = accesses_along(body_, body_.reduced_axis(), 8, facts_);
    const int more = by_8.instructions(8) - by_4.instructions(4);
    return more > 0 || (more == 0 && by_4.narrow < by_8.narrow);
  }

  /// Threads of each of `cluster` blocks that keep a row in registers; the maximum if the row fits
  /// in shared memory only.
  int threads_for_residency(int cluster) const {
    if (!may_stay_resident_) return 1;
    const std::int64_t bytes = extent_ * registers_.kept_bytes_in_vectors(static_cast<int>(kChunk));
    const std::int64_t of_thread = kResidentRegisters * 4 * cluster;
    const std::int64_t threads = divide_up(bytes, of_thread);
    // A row that cannot stay resident is read again, and needs no extra threads.
    if (threads > kMaxResidentThreads && !fits_resident(body_, target_, facts_, cluster)) return 1;
    return static_cast<int>(bit_ceil(std::min<std::int64_t>(threads, kMaxResidentThreads)));
  }

  /// Maximum blocks of a cluster for these rows: at most one per part.
  int max_cluster() const {
    if (split_ || !may_stay_resident_) return 1;
    return static_cast<int>(std::min<std::int64_t>(target_.max_cluster, tree_.parts));
  }

  void add_if_resident(int vector, int cluster, bool may_be_in_shared, int scale = 1) {
    const int threads = std::max(threads_for_residency(cluster), kMinClusterThreads) * scale;
    const std::optional<Schedule> made = schedule_of(threads, vector, threads, cluster);
    if (!made || !made->resident) return;
    if (may_be_in_shared || (!made->in_shared && loads_enough(*made))) list_.add(*made);
  }

  /// Adds clusters that use more SMs if rows are few. If no single block keeps a row, adds clusters
  /// that keep it in registers, smallest first, then clusters that keep it in shared memory.
  void add_clusters(int wide) {
    if (max_cluster() == 1) return;
    if (const int filling = filling_cluster(); filling > 1) {
      add_if_resident(wide, filling, true);
      add_if_resident(4, filling, true);
    }
    const int alone = std::max(ladder(extent_), threads_for_residency(1));
    for (const int vector : {wide, 4})
      if (const auto made = schedule_of(alone, vector, kDefaultThreads, 1); made && made->resident)
        return;
    for (const bool in_shared : {false, true})
      for (const int vector : {wide, 4})
        for (int cluster = 2; cluster <= max_cluster(); cluster *= 2)
          add_if_resident(vector, cluster, in_shared);
    if (!list_.schedules().empty())
      add_if_resident(wide, list_.schedules().front().cluster, true, 2);
  }

  /// A block that keeps a row in shared memory is alone on its SM. Tuning may find that a cluster
  /// that keeps it in registers is faster.
  void add_register_clusters(int wide) {
    const Schedule first = list_.schedules().front();
    if (!first.in_shared || first.cluster > 1) return;
    for (int cluster = 2; cluster <= max_cluster(); cluster *= 2)
      add_if_resident(wide, cluster, false);
  }

  /// Adds a cluster of twice the portable size if only the portable size, or none, keeps a row. It
  /// is never the default: only the device knows whether it fits.
  void add_large_cluster(int wide) {
    const Schedule& first = list_.schedules().front();
    const int cluster = largest_cluster(target_);
    if (!may_stay_resident_ || split_ || cluster == target_.max_cluster || tree_.parts < cluster)
      return;
    if (!first.resident || first.cluster == target_.max_cluster)
      add_if_resident(wide, cluster, true);
  }

  /// For few long rows: the largest cluster whose blocks each have their own SM and enough work;
  /// else 1. The GPU runs all clusters at once.
  int filling_cluster() const {
    int cluster = 1;
    while (2 * cluster <= max_cluster() && rows_ <= clusters_at_once(target_, 2 * cluster) &&
           extent_ * registers_.kept_bytes() >= 2 * cluster * kMinClusterShareBytes)
      cluster *= 2;
    return cluster;
  }

  /// `must_hold_states`: adds only if the accumulators of a pass fit in registers. With fewer
  /// threads, each has more of them.
  void add(int threads_per_row, int vector, int threads, bool must_hold_states = false) {
    const auto made = schedule_of(threads_per_row, vector, threads, 1);
    if (!made) return;
    const std::int64_t words = registers_.of_accumulators(*made);
    if (!must_hold_states || words <= kMaxAccumulatorRegisters) list_.add(*made);
  }

  /// For results contiguous across rows: adds blocks with enough rows (row_store_tiles.h).
  void add_tiles(int threads_per_row, int vector) {
    const int rows = split_ ? 0 : rows_of_tiles(body_, facts_);
    for (const int per_row : {threads_per_row, threads_per_row / 2, 2 * threads_per_row}) {
      if (rows == 0 || per_row == 0) continue;
      std::optional<Schedule> made = schedule_of(per_row, vector, rows * per_row, 1);
      if (!made || made->rows_per_block % rows != 0 || made->in_shared) continue;
      const std::int64_t available = target_.shared_per_block_opt_in - shared_bytes(*made);
      if ((may_stay_resident_ && !made->resident) ||
          !fits_tiles(body_, facts_, made->rows_per_block, available))
        continue;
      made->tile = made->rows_per_block;
      list_.add(*made);
    }
  }

  /// nullopt if the reduction tree cannot be distributed like this.
  std::optional<Schedule> schedule_of(int threads_per_row, int vector, int threads,
                                      int cluster) const {
    std::optional<Schedule> made =
        distribute_row(body_, facts_, tree_, threads_per_row,
                       {.vector = vector, .cluster = cluster, .splits_rows = split_});
    if (!made) return std::nullopt;
    Schedule& schedule = *made;
    const int per_row = schedule.threads_per_row;
    schedule.rows_per_block = std::max(1, threads / per_row);
    // Spreads few rows over all SMs, but keeps whole warps.
    while (schedule.rows_per_block > 1 && rows_ / schedule.rows_per_block < target_.sm_count &&
           schedule.rows_per_block * per_row > 32)
      schedule.rows_per_block /= 2;
    // If every SM has work, a block moves enough bytes to justify its start.
    if (row_bytes_ * rows_ >= kMinBytesPerBlock * target_.sm_count)
      while (schedule.rows_per_block * row_bytes_ < kMinBytesPerBlock &&
             2 * schedule.rows_per_block * per_row <= kMaxResidentThreads)
        schedule.rows_per_block *= 2;
    if (split_ || cluster > 1) schedule.rows_per_block = 1;
    schedule.threads = schedule.rows_per_block * per_row;
    if (schedule.threads < 32) {
      if (split_ || cluster > 1) return std::nullopt;
      schedule.rows_per_block = 32 / per_row;
      schedule.threads = 32;
    }
    if (schedule.threads > 1024) return std::nullopt;
    schedule.resident = fits(schedule);
    schedule.in_shared = may_stay_resident_ && !split_ && !schedule.resident &&
                         shared_bytes_of_rows(schedule) <= target_.shared_per_block_opt_in;
    if (!schedule.resident && has_loops(schedule)) set_loads_in_flight(schedule);
    schedule.resident = schedule.resident || schedule.in_shared;
    return made;
  }

  /// True if a thread has more vectors of a part than accumulators. It then loops over them, unless
  /// they stay in registers.
  bool has_loops(const Schedule& schedule) const {
    if (split_) return false;
    const std::int64_t vectors =
        vectors_per_thread(tree_, schedule) * schedule.groups * schedule.cluster;
    return vectors * schedule.threads_per_row * (schedule.vector / kChunk) >
           tree_.accumulators * schedule.groups * tree_.parts;
  }

  /// Rows that are not in registers are read in loops. Sets the vectors that a thread loads at once
  /// for enough bytes in flight per SM, and the blocks per SM that fit then. Without this bound the
  /// compiler saves registers for more blocks, and loads less at once.
  void set_loads_in_flight(Schedule& schedule) const {
    const std::int64_t bytes = schedule.vector * registers_.read_bytes();
    if (bytes == 0) return;
    const std::int64_t loads = registers_.of_loads(schedule.vector);
    const std::int64_t others = registers_.of_loop(schedule);
    const std::int64_t shared =
        schedule.in_shared ? shared_bytes_of_rows(schedule) : shared_bytes(schedule);
    int blocks = blocks_per_sm(target_, schedule.threads, kMinLoopRegisters, shared);
    for (; blocks > 0; --blocks) {
      const std::int64_t of_vector = bytes * schedule.threads * blocks;
      const std::int64_t wanted =
          bit_ceil(divide_up<std::int64_t>(target_.bytes_in_flight, of_vector));
      const std::int64_t free =
          std::min<std::int64_t>(target_.registers_per_sm / (schedule.threads * blocks),
                                 kMaxThreadRegisters) -
          others;
      const std::int64_t limit = std::min(free, kMaxLoadRegisters) / loads;
      if (limit < 1 || (blocks > 1 && wanted > limit)) continue;
      schedule.unroll = static_cast<int>(std::min(wanted, bit_floor(limit)));
      schedule.blocks_per_sm = blocks;
      return;
    }
  }

  /// A row in registers is loaded at once. True if the blocks that then fit on an SM have as many
  /// bytes in flight as the target needs.
  bool loads_enough(const Schedule& schedule) const {
    const std::int64_t elements = vectors_per_thread(tree_, schedule) * schedule.vector;
    const std::int64_t registers =
        elements * registers_.kept_bytes_in_vectors(schedule.vector) / 4 +
        registers_.of_others(schedule);
    return elements * registers_.read_bytes() * schedule.threads *
               blocks_per_sm(target_, schedule.threads, static_cast<int>(registers),
                             shared_bytes(schedule)) >=
           target_.bytes_in_flight;
  }

  /// True if a thread's share of the kept values fits in its registers with its other needs.
  bool fits(const Schedule& schedule) const {
    if (!may_stay_resident_) return false;
    const std::int64_t words =
        std::min<std::int64_t>(kResidentRegisters, target_.registers_per_sm / schedule.threads -
                                                       registers_.of_others(schedule));
    return vectors_per_thread(tree_, schedule) * schedule.vector *
                   registers_.kept_bytes_in_vectors(schedule.vector) <=
               words * 4 &&
           shared_bytes(schedule) <= target_.shared_per_block_opt_in;
  }

  /// Shared memory of a block for exchanged states and staged rows.
  std::int64_t shared_bytes(const Schedule& schedule) const {
    return exchange_bytes(schedule) + staged_bytes_ * schedule.rows_per_block +
           (schedule.resident ? 0 : waiting_bytes(schedule));
  }

  /// The states of parts that wait in shared memory while loops run over the parts.
  std::int64_t waiting_bytes(const Schedule& schedule) const {
    if (split_ || tree_.parts == 1) return 0;
    const std::int64_t states = tree_.parts / schedule.cluster * schedule.rows_per_block;
    return static_cast<std::int64_t>(body_.reductions.size()) * round_up(states * state_bytes_, 16);
  }

  std::int64_t exchange_bytes(const Schedule& schedule) const {
    return 2 * state_bytes_ *
           (std::int64_t{schedule.threads} * (schedule.vector / kChunk) +
            (schedule.cluster > 1 ? schedule.cluster : 0));
  }

  std::int64_t shared_bytes_of_rows(const Schedule& schedule) const {
    return exchange_bytes(schedule) + waiting_bytes(schedule) +
           vectors_per_thread(tree_, schedule) * schedule.vector * schedule.threads *
               shared_slot_bytes_;
  }

  const Body& body_;
  const Target& target_;
  const Facts& facts_;
  bool split_;
  bool may_stay_resident_;  ///< several passes over the rows
  std::int64_t extent_;     ///< elements of a row; resident: of the longest row of its size class
  std::int64_t rows_;
  Tree tree_;
  PassPlan plan_;
  RowRegisters registers_;
  std::int64_t state_bytes_;            ///< of the widest reduction
  std::int64_t shared_slot_bytes_ = 0;  ///< of kept values in shared memory, per row element
  std::int64_t staged_bytes_ = 0;       ///< of a staged row, at most
  std::int64_t row_bytes_ = 0;          ///< read and written; 0: enough for a block
  CandidateList list_;
};

}  // namespace

std::vector<Schedule> row_candidates(const Body& body, const Target& target, const Facts& facts,
                                     bool split) {
  return RowCandidates(body, target, facts, split).make();
}

}  // namespace sinter
