#include "compiler/candidates/column_candidates.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

#include "compiler/body/access.h"
#include "compiler/candidates/candidate_list.h"
#include "compiler/candidates/column_cost_model.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/tiling/column_split.h"
#include "compiler/tiling/vector_width.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

/// Maximum instructions per element of an unrolled loop: longer texts cost more than they gain.
constexpr int kMaxUnrolledInstructions = 16;

/// Generates the candidates. A block has adjacent columns and several threads along the rows:
/// enough, over all blocks, to keep the memory busy.
class ColumnCandidates {
 public:
  ColumnCandidates(const Body& body, const Target& target, const Facts& facts)
      : target_(target),
        model_(body, target, facts),
        tree_(model_.tree()),
        bytes_(largest_element_along(body, body.parallel_axes - 1)),
        full_loads_(std::max(full_loads(body), 1)),
        is_cheap_(instructions_per_position(body) <= kMaxUnrolledInstructions),
        may_be_split_(body.passes() == 1 && !body.reductions.empty()),
        may_load_several_(may_be_split_ && body.reduced_size().is_number() &&
                          !has_heavy_state(body)) {
    const std::int64_t divisor = divisor_of(body.space.extent(body.parallel_axes - 1), facts);
    const int limit = static_cast<int>(std::min<std::int64_t>(16 / bytes_, divisor));
    widest_ = useful_vector(body, body.parallel_axes - 1, limit, facts);
    // A vector of per-column values may take several accesses; a vector in every row may not.
    const int row_limit =
        static_cast<int>(std::min<std::int64_t>(std::max(16 / model_.widest(), 1), divisor));
    widest_of_rows_ = useful_vector(body, body.parallel_axes - 1, row_limit, facts);
  }

  std::vector<Schedule> make() {
    for (int vector = widest_; vector >= 1; vector /= 2) {
      const int wide = adjacent_vectors(vector);
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
    if (model_.kept_bytes() > 0) add_resident(schedules);
    if (leaves_memory_idle(schedules)) add_load_heavy(schedules);
    if (may_be_split_ && (leaves_memory_idle(schedules) || has_short_segments()))
      add_split(schedules);
    sort_by_seconds(schedules);
    put_resident_first(schedules);
    put_full_waves_first(schedules);
    if (model_.kept_bytes() > 0) {
      add_wider_clusters(schedules);
      add_large_clusters(schedules);
    }
    if (schedules.size() > kMaxCandidates) schedules.resize(kMaxCandidates);
    for (Schedule& schedule : schedules)
      schedule.blocks_per_sm = model_.reserved_blocks_per_sm(schedule);
    return schedules;
  }

 private:
  void sort_by_seconds(std::vector<Schedule>& schedules) const {
    std::ranges::stable_sort(schedules, {},
                             [&](const Schedule& schedule) { return model_.seconds(schedule); });
  }

  /// Moves the best schedule with columns resident in one block to the front, unless reading them
  /// again is faster by more than the model's margin.
  void put_resident_first(std::vector<Schedule>& schedules) const {
    if (schedules.empty() || schedules.front().resident) return;
    const auto resident = std::ranges::find_if(schedules, [](const Schedule& schedule) {
      return schedule.resident && schedule.cluster == 1;
    });
    if (resident != schedules.end() &&
        model_.seconds(*resident) <= kModelMargin * model_.seconds(schedules.front()))
      std::rotate(schedules.begin(), resident, resident + 1);
  }

  /// Among the schedules that move as many bytes as the first one, moves the fastest over all its
  /// waves to the front.
  void put_full_waves_first(std::vector<Schedule>& schedules) const {
    if (schedules.empty()) return;
    const Schedule first = schedules.front();
    const auto best = std::ranges::min_element(schedules, {}, [&](const Schedule& schedule) {
      const bool moves_as_much = schedule.resident == first.resident &&
                                 schedule.cluster == first.cluster &&
                                 schedule.splits == first.splits;
      return moves_as_much ? model_.seconds(schedule, true)
                           : std::numeric_limits<double>::infinity();
    });
    if (model_.seconds(*best, true) < kWaveGain * model_.seconds(first, true))
      std::rotate(schedules.begin(), best, best + 1);
  }

  /// Rounded up to a power of two.
  int vectors_in_row(int vector) const {
    return static_cast<int>(bit_ceil(model_.inner() / vector));
  }
  /// Short columns have few threads each, so a block needs several of them to fill a warp.
  int min_adjacent_vectors() const {
    return std::max(1, static_cast<int>(32 / tree_.accumulators));
  }

  /// True if blocks of whole columns are so few that they must read short segments of each row.
  bool has_short_segments() const {
    return adjacent_vectors(widest_) < preferred_adjacent_vectors(widest_);
  }
  /// Vectors of a row per block: 128 bytes, or fewer if blocks would be too few for all SMs, but at
  /// least a sector of 32 bytes.
  int adjacent_vectors(int vector) const {
    const int bytes = vector * bytes_;
    int wide = preferred_adjacent_vectors(vector);
    while (wide > min_adjacent_vectors() && wide * bytes > 32 &&
           model_.outer() * model_.inner() / (std::int64_t{wide} * vector) < target_.sm_count)
      wide /= 2;
    return wide;
  }
  int preferred_adjacent_vectors(int vector) const {
    const int good = std::max(128 / (vector * bytes_), static_cast<int>(128 / tree_.accumulators));
    return std::max(std::min({good, vectors_in_row(vector), 128}), min_adjacent_vectors());
  }

  /// Threads per column, if each thread has four rows of every full load in flight.
  int lanes_for(int vector, int wide) const {
    const std::int64_t bytes = kChunk * vector * bytes_ * full_loads_;
    const std::int64_t threads = target_.sm_count * target_.bytes_in_flight / bytes;
    const std::int64_t columns =
        std::max<std::int64_t>(model_.outer() * model_.inner() / vector, 1);
    return static_cast<int>(
        std::clamp<std::int64_t>(bit_ceil(threads / columns), 16, std::max(1024 / wide, 16)));
  }

  /// A block of `adjacent_vectors` vectors of columns with `lanes` threads each, at most one per
  /// accumulator. Small blocks get further groups of threads, which share the parts. nullopt if the
  /// block would have fewer than 32 or more than 1024 threads.
  std::optional<Schedule> schedule_of(int vector, int lanes, int adjacent_vectors,
                                      std::int64_t splits = 1, int max_grouped = 256) const {
    const ColumnSplit split = split_of(tree_, splits);
    adjacent_vectors =
        std::min(adjacent_vectors, std::max(vectors_in_row(vector), min_adjacent_vectors()));
    if (lanes < 1 || adjacent_vectors < 1) return std::nullopt;
    lanes = static_cast<int>(std::min<std::int64_t>(lanes, split.accumulators));
    int groups = 1;
    while (groups * 2 <= split.parts && lanes == split.accumulators &&
           lanes * adjacent_vectors * groups * 2 <= max_grouped)
      groups *= 2;
    const int threads = lanes * adjacent_vectors * groups;
    if (threads > 1024 || threads < 32) return std::nullopt;
    Schedule schedule{.threads = threads,
                      .vector = vector,
                      .threads_per_row = lanes * groups,
                      .rows_per_block = adjacent_vectors,
                      .groups = groups,
                      .splits = static_cast<int>(splits)};
    if (is_cheap_) schedule.unroll = chunks_at_once(vector, split.chunks_per_part / lanes);
    return schedule;
  }

  /// Chunks that a thread loads at once: two if an accumulator has several. With the widest vector
  /// more, also of other accumulators, until half of an SM's threads have enough bytes in flight.
  /// At most 8, and at most the thread's `own` chunks.
  int chunks_at_once(int vector, std::int64_t own) const {
    constexpr int kMaxChunks = 8;
    const std::int64_t bytes = kChunk * vector * bytes_ * full_loads_;
    int chunks = tree_.chunks_per_part > tree_.accumulators ? 2 : 1;
    if (!may_load_several_ || vector < widest_) return chunks;
    while (chunks < kMaxChunks && 2 * chunks <= own &&
           chunks * bytes * target_.max_threads_per_sm / 2 < target_.bytes_in_flight)
      chunks *= 2;
    return chunks;
  }

  void add(int vector, int lanes, int adjacent_vectors, bool is_last_resort = false) {
    const std::optional<Schedule> schedule = schedule_of(vector, lanes, adjacent_vectors);
    if (!schedule || !model_.fits_shared(*schedule)) return;
    if (model_.fits(*schedule) || is_last_resort) list_.add(*schedule);
  }

  /// Adds blocks that keep all rows of a few columns resident. If no block can, or if such blocks
  /// leave the memory idle, adds clusters whose blocks keep a share of the rows each. Of equally
  /// fast clusters, the smallest comes first.
  void add_resident(std::vector<Schedule>& schedules) const {
    std::vector<Schedule> alone = resident_in_cluster(1);
    const bool is_enough = !alone.empty() && !leaves_memory_idle(alone);
    append(schedules, std::move(alone));
    if (is_enough) return;
    std::vector<Schedule> more;
    for (int cluster = 2; cluster <= target_.max_cluster; cluster *= 2)
      std::ranges::copy(resident_in_cluster(cluster), std::back_inserter(more));
    append(schedules, std::move(more));
  }

  /// If the default keeps columns in single blocks with short segments of each row: adds clusters
  /// with longer ones, or more blocks per SM. Tuning decides.
  void add_wider_clusters(std::vector<Schedule>& schedules) const {
    const Schedule& first = schedules.front();
    if (!first.resident || first.cluster > 1) return;
    const double limit = model_.cost_of_residency(first);
    if (limit == 1) return;
    std::vector<Schedule> wider;
    for (int cluster = 2; cluster <= target_.max_cluster; cluster *= 2)
      for (const Schedule& schedule : resident_in_cluster(cluster))
        if (model_.cost_of_residency(schedule) < limit) wider.push_back(schedule);
    std::ranges::stable_sort(wider, {}, [&](const Schedule& schedule) {
      return model_.seconds(schedule) * model_.cost_of_residency(schedule);
    });
    constexpr std::size_t kMaxWider = 3;
    if (wider.size() > kMaxWider) wider.resize(kMaxWider);
    schedules.insert(schedules.begin() + 1, wider.begin(), wider.end());
  }

  /// Adds clusters of twice the portable size, unless a smaller cluster than the portable one keeps
  /// the columns. They are never the default: only the device knows whether they fit.
  void add_large_clusters(std::vector<Schedule>& schedules) const {
    const int cluster = largest_cluster(target_);
    const Schedule& first = schedules.front();
    if (cluster == target_.max_cluster || (first.resident && first.cluster < target_.max_cluster))
      return;
    std::vector<Schedule> large;
    append(large, resident_in_cluster(cluster));
    constexpr std::size_t kMaxLarge = 2;
    if (large.size() > kMaxLarge) large.resize(kMaxLarge);
    schedules.insert(schedules.begin() + 1, large.begin(), large.end());
  }

  /// Schedules in which `cluster` blocks keep a few columns resident: 64, 32 or 128 bytes of each
  /// row.
  std::vector<Schedule> resident_in_cluster(int cluster) const {
    std::vector<Schedule> result;
    if (cluster > tree_.parts * tree_.accumulators) return result;
    // A large cluster is more likely to fit on a device if its blocks are not the largest.
    const int max_threads = cluster > target_.max_cluster ? 512 : 1024;
    for (const int bytes : {64, 32, 128})
      for (int vector = widest_of_rows_; vector >= 1 && vector * 4 > widest_of_rows_; vector /= 2)
        for (const int threads : {256, 512, 128, 1024, 64})
          if (auto schedule = schedule_over_bytes(bytes, vector, threads, cluster);
              schedule && schedule->threads <= max_threads) {
            schedule->cluster = cluster;
            schedule->splits = 1;
            schedule->resident = schedule->in_shared = true;
            std::ranges::copy(unroll_variants(*schedule), std::back_inserter(result));
          }
    return result;
  }

  /// A schedule of about `threads` threads per block, over `bytes` of each row.
  std::optional<Schedule> schedule_over_bytes(int bytes, int vector, int threads,
                                              std::int64_t splits = 1) const {
    const int wide =
        std::max(std::min(bytes / (vector * model_.narrowest()), vectors_in_row(vector)),
                 min_adjacent_vectors());
    return schedule_of(vector, threads / wide, wide, splits, std::max(threads, 256));
  }
  /// Variants that load two chunks of an accumulator at once, if it has several, or one. Applies to
  /// expensive bodies too: the block is alone on its SM, so only its own loads are in flight.
  std::vector<Schedule> unroll_variants(Schedule schedule) const {
    std::vector<Schedule> result;
    for (const int unroll : {2, 1}) {
      schedule.unroll = tree_.chunks_per_part > tree_.accumulators ? unroll : 1;
      if (model_.fits(schedule)) result.push_back(schedule);
    }
    return result;
  }

  /// If blocks are too few: adds blocks with as many loads as possible. Uses the wider vectors only
  /// if several passes bind each column to one block, because they fill the registers with states.
  void add_load_heavy(std::vector<Schedule>& schedules) const {
    std::vector<Schedule> more;
    const int vector = may_be_split_ ? widest_ : widest_of_rows_;
    for (const int threads : {512, 1024, 256}) {
      const std::optional<Schedule> schedule = schedule_over_bytes(32, vector, threads);
      if (!schedule) continue;
      if (!may_be_split_)
        std::ranges::copy(unroll_variants(*schedule), std::back_inserter(more));
      else if (model_.fits(*schedule))
        more.push_back(*schedule);
    }
    append(schedules, std::move(more));
  }

  bool leaves_memory_idle(std::span<const Schedule> schedules) const {
    return std::ranges::none_of(schedules, [&](const Schedule& schedule) {
      return model_.bytes_in_flight(schedule) >= static_cast<double>(target_.bytes_in_flight);
    });
  }

  /// Adds schedules in which several blocks share each tile of columns, to keep all SMs busy.
  void add_split(std::vector<Schedule>& schedules) const {
    std::vector<Schedule> more;
    for (const int scale : {2, 1, 4, 8})
      for (const int threads : {256, 512}) {
        const int wide = preferred_adjacent_vectors(widest_);
        const std::optional<Schedule> unsplit = schedule_of(widest_, threads / wide, wide);
        if (!unsplit) continue;
        const std::int64_t lanes = unsplit->threads_per_row / unsplit->groups;
        const std::int64_t tiles = std::max<std::int64_t>(model_.tiles(*unsplit), 1);
        const std::int64_t splits = std::min(bit_ceil(target_.sm_count * scale / tiles),
                                             tree_.parts * tree_.accumulators / lanes);
        if (splits == 1) continue;
        const std::optional<Schedule> schedule =
            schedule_of(widest_, static_cast<int>(lanes), wide, splits);
        if (schedule && model_.fits(*schedule)) more.push_back(*schedule);
      }
    append(schedules, std::move(more));
  }

  /// Appends the fastest of `more`, at most 6 new ones. Equally fast schedules keep their order.
  void append(std::vector<Schedule>& schedules, std::vector<Schedule> more) const {
    constexpr std::size_t kMaxNew = 6;
    sort_by_seconds(more);
    const std::size_t limit = schedules.size() + kMaxNew;
    for (const Schedule& schedule : more)
      if (schedules.size() < limit && std::ranges::find(schedules, schedule) == schedules.end())
        schedules.push_back(schedule);
  }

  const Target& target_;
  ColumnCostModel model_;
  Tree tree_;
  int bytes_;       ///< of the largest element along the columns
  int full_loads_;  ///< at least one
  bool is_cheap_;
  bool may_be_split_;
  bool may_load_several_;   ///< chunks of several accumulators at once
  int widest_ = 1;          ///< useful vector of all accesses along the columns
  int widest_of_rows_ = 1;  ///< the same for accesses in every row
  CandidateList list_;
};

}  // namespace

std::vector<Schedule> column_candidates(const Body& body, const Target& target,
                                        const Facts& facts) {
  return ColumnCandidates(body, target, facts).make();
}

ColumnPrediction predict_columns(const Body& body, const Target& target, const Facts& facts) {
  const std::vector<Schedule> schedules = column_candidates(body, target, facts);
  if (schedules.empty()) return {};
  const ColumnCostModel model(body, target, facts);
  const Schedule& first = schedules.front();
  return {.is_resident = first.resident,
          .seconds = model.seconds(first),
          .bytes_of_splits = model.bytes_of_splits(first)};
}

}  // namespace sinter
