#include "compiler/candidates/column_candidates.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <optional>

#include "compiler/body/access.h"
#include "compiler/candidates/candidate_list.h"
#include "compiler/candidates/column_cost_model.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/tiling/column_split.h"
#include "compiler/tiling/vector_width.h"

namespace sinter {

namespace {

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

/// True if taking an element in takes registers that loads would need.
bool is_heavy(const Body& body) {
  return std::ranges::any_of(body.reductions, [](const BodyReduction& reduction) {
    return reduction.node->op == Op::welford || reduction.node->op == Op::logsumexp;
  });
}

/// Columns side by side in a block, and threads along the rows: enough of them, over all blocks, to
/// keep the memory busy.
class ColumnCandidates {
 public:
  ColumnCandidates(const Body& body, const Target& target, const Facts& facts)
      : target_(target),
        model_(body, target, facts),
        tree_(model_.tree()),
        bytes_(model_.sizes().largest),
        streams_(std::max(streams(body), 1)),
        is_cheap_(is_cheap(body)),
        may_be_split_(body.passes() == 1 && !body.reductions.empty()),
        may_load_several_(may_be_split_ && body.reduced_size().is_number() && !is_heavy(body)) {
    const std::int64_t divisor = divisor_of(body.space.extent(body.parallel_axes - 1), facts);
    const int limit = static_cast<int>(std::min<std::int64_t>(16 / bytes_, divisor));
    widest_ = useful_vector(body, body.parallel_axes - 1, limit, facts);
    // What is one of a column may take several accesses, what is one of a row may not.
    const int row_limit =
        static_cast<int>(std::min<std::int64_t>(std::max(16 / model_.widest(), 1), divisor));
    widest_of_rows_ = useful_vector(body, body.parallel_axes - 1, row_limit, facts);
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
    if (model_.kept_bytes() > 0) add_resident(schedules);
    if (leaves_memory_idle(schedules)) add_busy(schedules);
    if (may_be_split_ && leaves_memory_idle(schedules)) add_split(schedules);
    std::ranges::stable_sort(schedules, {},
                             [&](const Schedule& schedule) { return model_.seconds(schedule); });
    put_kept_first(schedules);
    put_whole_waves_first(schedules);
    if (model_.kept_bytes() > 0) add_large_clusters(schedules);
    constexpr std::size_t kMost = 12;
    if (schedules.size() > kMost) schedules.resize(kMost);
    for (Schedule& schedule : schedules) schedule.blocks_per_sm = model_.planned_blocks(schedule);
    return schedules;
  }

 private:
  /// Columns that one block keeps come before reading them again where that is hardly faster.
  void put_kept_first(std::vector<Schedule>& schedules) const {
    if (schedules.empty() || schedules.front().resident) return;
    const auto kept = std::ranges::find_if(schedules, [](const Schedule& schedule) {
      return schedule.resident && schedule.cluster == 1;
    });
    if (kept != schedules.end() &&
        model_.seconds(*kept) <= kModelMargin * model_.seconds(schedules.front()))
      std::rotate(schedules.begin(), kept, kept + 1);
  }

  /// Of the schedules that move as many bytes as the first one, the best over all its waves.
  void put_whole_waves_first(std::vector<Schedule>& schedules) const {
    if (schedules.empty()) return;
    const Schedule first = schedules.front();
    const auto best = std::ranges::min_element(schedules, {}, [&](const Schedule& schedule) {
      const bool moves_as_much = schedule.resident == first.resident &&
                                 schedule.cluster == first.cluster &&
                                 schedule.splits == first.splits;
      return moves_as_much ? model_.seconds_in_waves(schedule)
                           : std::numeric_limits<double>::infinity();
    });
    if (model_.seconds_in_waves(*best) < kWorthwhile * model_.seconds_in_waves(first))
      std::rotate(schedules.begin(), best, best + 1);
  }

  int columns_there(int vector) const {
    return static_cast<int>(std::bit_ceil(
        static_cast<std::uint64_t>(std::max<std::int64_t>(model_.inner() / vector, 1))));
  }
  /// Short columns have few threads each: more of them, so that blocks are not tiny.
  int least_side_by_side() const { return std::max(1, static_cast<int>(32 / tree_.accumulators)); }

  /// 128 bytes of a row, fewer where blocks would be too few for all SMs, but never less than the
  /// 32 that come together anyway.
  int side_by_side(int vector) const {
    const int bytes = vector * bytes_;
    int wide = unshared_side_by_side(vector);
    while (wide > least_side_by_side() && wide * bytes > 32 &&
           model_.outer() * model_.inner() / (std::int64_t{wide} * vector) < target_.sm_count)
      wide /= 2;
    return wide;
  }
  int unshared_side_by_side(int vector) const {
    const int good = std::max(128 / (vector * bytes_), static_cast<int>(128 / tree_.accumulators));
    return std::max(std::min({good, columns_there(vector), 128}), least_side_by_side());
  }

  /// Each thread has four rows of every stream on their way.
  int lanes_for(int vector, int wide) const {
    const std::int64_t bytes = kChunk * vector * bytes_ * streams_;
    const std::int64_t threads = target_.sm_count * target_.bytes_in_flight / bytes;
    const std::int64_t columns =
        std::max<std::int64_t>(model_.outer() * model_.inner() / vector, 1);
    const auto wanted = static_cast<std::uint64_t>(std::max<std::int64_t>(threads / columns, 1));
    return static_cast<int>(std::clamp<std::int64_t>(
        static_cast<std::int64_t>(std::bit_ceil(wanted)), 16, std::max(1024 / wide, 16)));
  }

  /// `lanes` threads, or as many as there are accumulators, for each of so many vectors of columns;
  /// short of threads along the rows, parts are dealt out too. None: blocks have no good size.
  std::optional<Schedule> schedule_of(int vector, int lanes, int side_by_side,
                                      std::int64_t splits = 1, int most_grouped = 256) const {
    const ColumnSplit split = split_of(tree_, splits);
    side_by_side = std::min(side_by_side, std::max(columns_there(vector), least_side_by_side()));
    if (lanes < 1 || side_by_side < 1) return std::nullopt;
    lanes = static_cast<int>(std::min<std::int64_t>(lanes, split.accumulators));
    int groups = 1;
    while (groups * 2 <= split.parts && lanes == split.accumulators &&
           lanes * side_by_side * groups * 2 <= most_grouped)
      groups *= 2;
    const int threads = lanes * side_by_side * groups;
    if (threads > 1024 || threads < 32) return std::nullopt;
    Schedule schedule{.threads = threads,
                      .vector = vector,
                      .threads_per_row = lanes * groups,
                      .rows_per_block = side_by_side,
                      .groups = groups,
                      .splits = static_cast<int>(splits)};
    if (is_cheap_) schedule.unroll = chunks_at_once(vector, split.chunks_per_part / lanes);
    return schedule;
  }

  /// Two chunks of an accumulator, where it has more than one. Where no vector is wide, as many of
  /// the thread's `own`, those of other accumulators too, as make half of the threads that an SM
  /// has place for load what the memory needs.
  int chunks_at_once(int vector, std::int64_t own) const {
    constexpr int kMost = 8;
    const std::int64_t bytes = kChunk * vector * bytes_ * streams_;
    int chunks = tree_.chunks_per_part > tree_.accumulators ? 2 : 1;
    if (!may_load_several_ || vector < widest_) return chunks;
    while (chunks < kMost && 2 * chunks <= own &&
           chunks * bytes * target_.max_threads_per_sm / 2 < target_.bytes_in_flight)
      chunks *= 2;
    return chunks;
  }

  void add(int vector, int lanes, int side_by_side, bool is_last_resort = false) {
    const std::optional<Schedule> schedule = schedule_of(vector, lanes, side_by_side);
    if (!schedule || !model_.fits_shared(*schedule)) return;
    if (model_.fits(*schedule) || is_last_resort) list_.add(*schedule);
  }

  /// Blocks that keep all rows of few columns. Where no block does, or there would be too few, the
  /// blocks of clusters keep a share of the rows each: the fewest that are as fast come first.
  void add_resident(std::vector<Schedule>& schedules) const {
    std::vector<Schedule> alone = kept_by(1);
    const bool is_enough = !alone.empty() && !leaves_memory_idle(alone);
    append(schedules, std::move(alone));
    if (is_enough) return;
    std::vector<Schedule> more;
    for (int cluster = 2; cluster <= target_.max_cluster; cluster *= 2)
      std::ranges::copy(kept_by(cluster), std::back_inserter(more));
    append(schedules, std::move(more));
  }

  /// Where the largest cluster that every GPU runs does not keep the columns, or just so: twice as
  /// many blocks. Never the first choice, for the device has to be asked whether they fit.
  void add_large_clusters(std::vector<Schedule>& schedules) const {
    const int cluster = largest_cluster(target_);
    const Schedule& first = schedules.front();
    if (cluster == target_.max_cluster || (first.resident && first.cluster < target_.max_cluster))
      return;
    std::vector<Schedule> large;
    append(large, kept_by(cluster));
    constexpr std::size_t kMostLarge = 2;
    if (large.size() > kMostLarge) large.resize(kMostLarge);
    schedules.insert(schedules.begin() + 1, large.begin(), large.end());
  }

  /// Blocks, or the `cluster` blocks of clusters, that keep few columns: 64 bytes of each row, 32
  /// where that is too much for them or leaves blocks too few, 128 where rows are few.
  std::vector<Schedule> kept_by(int cluster) const {
    std::vector<Schedule> result;
    if (cluster > tree_.parts * tree_.accumulators) return result;
    // Large clusters find room on a device more easily if their blocks are not the largest.
    const int most_threads = cluster > target_.max_cluster ? 512 : 1024;
    for (const int bytes : {64, 32, 128})
      for (int vector = widest_of_rows_; vector >= 1 && vector * 4 > widest_of_rows_; vector /= 2)
        for (const int threads : {256, 512, 128, 1024, 64})
          if (auto schedule = over_bytes_of_rows(bytes, vector, threads, cluster);
              schedule && schedule->threads <= most_threads) {
            schedule->cluster = cluster;
            schedule->splits = 1;
            schedule->resident = schedule->in_shared = true;
            std::ranges::copy(with_more_ahead(*schedule), std::back_inserter(result));
          }
    return result;
  }

  /// `threads` with vectors as wide as rows allow, over `bytes` of each row.
  std::optional<Schedule> over_bytes_of_rows(int bytes, int vector, int threads,
                                             std::int64_t splits = 1) const {
    const int wide =
        std::max(std::min(bytes / (vector * model_.narrowest()), columns_there(vector)),
                 least_side_by_side());
    return schedule_of(vector, threads / wide, wide, splits, std::max(threads, 256));
  }
  /// Two chunks of an accumulator at once, where it has several, however much there is to do: what
  /// a block loads at once is all that is in flight on its SM.
  std::vector<Schedule> with_more_ahead(Schedule schedule) const {
    std::vector<Schedule> result;
    for (const int unroll : {2, 1}) {
      schedule.unroll = tree_.chunks_per_part > tree_.accumulators ? unroll : 1;
      if (model_.fits(schedule)) result.push_back(schedule);
    }
    return result;
  }

  /// Where blocks are too few: as many loads as one block can make. Wide vectors only where several
  /// passes bind each column to one block: they fill the registers with states.
  void add_busy(std::vector<Schedule>& schedules) const {
    std::vector<Schedule> more;
    const int vector = may_be_split_ ? widest_ : widest_of_rows_;
    for (const int threads : {512, 1024, 256}) {
      const std::optional<Schedule> schedule = over_bytes_of_rows(32, vector, threads);
      if (!schedule) continue;
      if (!may_be_split_)
        std::ranges::copy(with_more_ahead(*schedule), std::back_inserter(more));
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

  /// Several blocks for each tile of columns, as many as keep all SMs busy.
  void add_split(std::vector<Schedule>& schedules) const {
    std::vector<Schedule> more;
    for (const int scale : {2, 1, 4, 8})
      for (const int threads : {256, 512}) {
        const int wide = unshared_side_by_side(widest_);
        const std::optional<Schedule> whole = schedule_of(widest_, threads / wide, wide);
        if (!whole) continue;
        const std::int64_t lanes = whole->threads_per_row / whole->groups;
        const std::int64_t most = tree_.parts * tree_.accumulators / lanes;
        const std::int64_t tiles = std::max<std::int64_t>(model_.tiles(*whole), 1);
        const auto wanted =
            static_cast<std::uint64_t>(std::max<std::int64_t>(target_.sm_count * scale / tiles, 1));
        const auto splits = std::min(static_cast<std::int64_t>(std::bit_ceil(wanted)), most);
        if (splits == 1) continue;
        const std::optional<Schedule> schedule =
            schedule_of(widest_, static_cast<int>(lanes), wide, splits);
        if (schedule && model_.fits(*schedule)) more.push_back(*schedule);
      }
    append(schedules, std::move(more));
  }

  /// The best of `more`, in their order where they are as good as one another.
  void append(std::vector<Schedule>& schedules, std::vector<Schedule> more) const {
    constexpr std::size_t kMost = 6;
    std::ranges::stable_sort(more, {},
                             [&](const Schedule& schedule) { return model_.seconds(schedule); });
    const std::size_t most = schedules.size() + kMost;
    for (const Schedule& schedule : more)
      if (schedules.size() < most && std::ranges::find(schedules, schedule) == schedules.end())
        schedules.push_back(schedule);
  }

  const Target& target_;
  ColumnModel model_;
  Tree tree_;
  int bytes_;    ///< of the largest element along the columns
  int streams_;  ///< at least one
  bool is_cheap_;
  bool may_be_split_;
  bool may_load_several_;   ///< accumulators at once: their number of chunks is known
  int widest_ = 1;          ///< vector that all accesses along the columns may have
  int widest_of_rows_ = 1;  ///< the same of those that are made row by row
  CandidateList list_;
};

}  // namespace

std::vector<Schedule> column_candidates(const Body& body, const Target& target,
                                        const Facts& facts) {
  return ColumnCandidates(body, target, facts).make();
}

}  // namespace sinter
