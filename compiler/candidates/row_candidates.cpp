#include "compiler/candidates/row_candidates.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "compiler/body/access.h"
#include "compiler/body/footprint.h"
#include "compiler/candidates/candidate_list.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/target/wave_quantization.h"
#include "compiler/tiling/row_residency.h"
#include "compiler/tiling/row_staging.h"
#include "compiler/tiling/row_store_tiles.h"
#include "compiler/tiling/vector_width.h"

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

/// Registers of a thread for what it keeps of its row, and for all else.
constexpr std::int64_t kKeptWords = 64;
constexpr std::int64_t kOtherRegisters = 40;
/// How many of these are for the accumulators of a pass.
constexpr std::int64_t kAccumulatorWords = 16;
constexpr std::int64_t kMostAccumulatorWords = 128;  ///< with more they spill
/// And for vectors that may end early, each with conditions of its own.
constexpr std::int64_t kGuardRegisters = 40;
constexpr int kMostThreadsThatKeep = 512;
/// What an element costs that Welford's or logsumexp take in.
constexpr std::int64_t kHeavyWords = 16;
/// Registers of a thread that goes through its row by loops, at least; those for what it loads
/// ahead, and those that any thread has, at most.
constexpr int kRegistersOfLoops = 64;
constexpr std::int64_t kLoopRegisters = 50;  // beside what it loads
constexpr std::int64_t kEndRegisters = 16;   // where the last vector may end early
constexpr std::int64_t kWordsAhead = 64;
constexpr std::int64_t kMostRegisters = 255;
/// A block of a cluster: with fewer threads there would be more barriers than work …
constexpr int kLeastThreadsOfCluster = 256;
/// … and with fewer bytes of a row, where it could be kept by fewer blocks.
constexpr std::int64_t kLeastShareOfCluster = 16 << 10;

class RowCandidates {
 public:
  RowCandidates(const Body& body, const Target& target, const Facts& facts, bool split)
      : body_(body),
        target_(target),
        facts_(facts),
        split_(split),
        extent_(evaluate(body.reduced_size(), facts.symbols)),
        rows_(evaluate(body.parallel_size(), facts.symbols)),
        tree_(tree_of(extent_)),
        state_bytes_(widest_state(body)),
        sizes_(sizes_along(body, body.reduced_axis())),
        may_keep_(body.passes() > 1 && body.reduced_size().is_number()) {
    for (const BodyReduction& reduction : body.reductions)
      if (reduction.node->op == Op::welford || reduction.node->op == Op::logsumexp)
        heavy_words_ = kHeavyWords;
    std::vector<std::int64_t> words_of_pass(static_cast<std::size_t>(body.passes()));
    for (const BodyReduction& reduction : body.reductions)
      words_of_pass[static_cast<std::size_t>(reduction.stage)] += state_bytes(*reduction.node) / 4;
    state_words_ = std::ranges::max(words_of_pass);
    if (extent_ < kLeastBytesOfBlock) row_bytes_ = bytes_of_row();
    const PassPlan plan = may_keep_ ? plan_resident_passes(body) : plan_passes(body);
    for (std::size_t value = 0; value < body.values.size(); ++value) {
      const Value& v = body.values[value];
      if (v.kind == Value::Kind::load && plan.needed[0][value]) read_first_.push_back(&v);
    }
    if (!may_keep_) return;
    kept_bytes_ = kept_bytes_per_element(body, plan);
    for (const int kept : plan.kept)
      if (const Value& v = body.values[static_cast<std::size_t>(kept)]; v.kind == Value::Kind::load)
        kept_loads_.push_back(&v);
    const std::vector<int> slots = kept_slots(body, plan).bytes;
    slot_bytes_ = std::accumulate(slots.begin(), slots.end(), std::int64_t{0});
    for (const StagedRow& row : staged_rows(body, plan))
      staged_bytes_ += staged_bytes(body, row, kLongestVector);
  }

  std::vector<Schedule> make() {
    const bool is_narrow = sizes_.largest <= 2;
    const int wide = is_narrow && !is_better_narrow() ? 8 : 4;
    add_clusters(wide);
    const int first =
        in_whole_waves(split_ ? 256 : std::max(ladder(extent_), threads_to_keep(1)), wide);
    add_tiles(first, wide);
    add(first, wide, default_threads());
    add(first, 4, default_threads());
    for (int cluster = filling_cluster() / 2; cluster > 1; cluster /= 2)
      add_if_kept(wide, cluster, false);
    if (!list_.schedules().empty()) {
      add_clusters_behind(wide);
      add_large_cluster(wide);
    }
    for (const int vector : {wide, 4})
      for (const int scale : {2, 4})
        for (const bool more : {true, false})
          add(more ? first * scale : first / scale, vector, default_threads(), !more);
    add(first, wide, 256);
    add(first, wide, 512);
    if (std::vector<Schedule> result = list_.take(); !result.empty()) return result;
    return {fallback()};
  }

 private:
  int default_threads() const { return 128; }

  /// Read and written, of one of many rows.
  std::int64_t bytes_of_row() const {
    std::int64_t bytes = 0;
    const auto add = [&](Extent elements, DType dtype) {
      bytes += evaluate(elements, facts_.symbols) * size_of(dtype);
    };
    for (const Value& value : body_.values)
      if (value.kind == Value::Kind::load) add(footprint_of(body_, value).elements, value.dtype);
    for (const BodyStore& store : body_.stores)
      add(stored_elements(body_, store), store.node->dtype);
    return bytes / std::max<std::int64_t>(rows_, 1);
  }

  /// `threads_per_row`, or another number with which the last of few waves takes less time.
  int in_whole_waves(int threads_per_row, int vector) const {
    std::vector<int> numbers;
    std::vector<Grid> grids;
    std::optional<Schedule> first;
    for (const int threads : {threads_per_row, 2 * threads_per_row, threads_per_row / 2}) {
      const std::optional<Schedule> made = schedule_of(threads, vector, default_threads(), 1);
      const bool is_like_first = made && made->resident == may_keep_ && !made->in_shared &&
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

  /// Its blocks as SMs get them, as far as that is known before it is compiled.
  Grid grid_of(const Schedule& schedule) const {
    constexpr std::int64_t kBare = 16;         // registers of a thread without what it holds
    constexpr std::int64_t kLoadedWords = 16;  // of rows that it does not keep
    const std::int64_t of_part = tree_.accumulators * schedule.groups / schedule.threads_per_row;
    const std::int64_t parts = split_ ? 1 : tree_.parts / (schedule.groups * schedule.cluster);
    const std::int64_t words =
        schedule.resident
            ? vectors_of(schedule) * schedule.vector * kept_bytes_ / 4
            : std::min(of_part * kChunk * sizes_.largest * std::max(streams(body_), 1) / 4,
                       kLoadedWords);
    const std::int64_t registers =
        kBare + words + state_words_ * (of_part + (parts > 1 ? parts : 0)) + heavy_words_;
    const std::int64_t blocks =
        split_ ? rows_ * tree_.parts
               : (rows_ + schedule.rows_per_block - 1) / schedule.rows_per_block;
    if (schedule.blocks_per_sm > 0)  // the compiler is told
      return {
          .blocks_per_sm = static_cast<double>(blocks) / target_.sm_count,
          .resident = schedule.blocks_per_sm,
          .bytes_in_flight = static_cast<double>(std::int64_t{schedule.threads} * schedule.unroll *
                                                 schedule.vector * read_bytes())};
    return {.blocks_per_sm = static_cast<double>(blocks) / target_.sm_count,
            .resident = blocks_per_sm(target_, schedule.threads, static_cast<int>(registers),
                                      shared_bytes(schedule)),
            .bytes_in_flight = static_cast<double>(schedule.threads * words * 4)};
  }

  /// True if vectors of 4 take fewer instructions than those of 8, or as many but go as a whole.
  bool is_better_narrow() const {
    const VectorAccesses by_4 = accesses_along(body_, body_.reduced_axis(), 4, facts_);
    const VectorAccesses by_8 = accesses_along(body_, body_.reduced_axis(), 8, facts_);
    const int more = by_8.instructions(8) - by_4.instructions(4);
    return more > 0 || (more == 0 && by_4.narrow < by_8.narrow);
  }

  /// How many threads of each of `cluster` blocks keep a row in their registers; as many as a block
  /// with shared memory to itself should have if none do.
  int threads_to_keep(int cluster) const {
    if (!may_keep_) return 1;
    const std::int64_t bytes = extent_ * bytes_in_registers(static_cast<int>(kChunk));
    const std::int64_t of_thread = kKeptWords * 4 * cluster;
    const auto threads = static_cast<std::uint64_t>((bytes + of_thread - 1) / of_thread);
    // A row that nothing can keep is read again, by as many threads as any other.
    if (threads > std::uint64_t{kMostThreadsThatKeep} && !fits_resident(body_, target_, cluster))
      return 1;
    return static_cast<int>(
        std::bit_ceil(std::clamp<std::uint64_t>(threads, 1, kMostThreadsThatKeep)));
  }

  /// The blocks that clusters may have for these rows: as many as there are parts.
  int most_blocks() const {
    if (split_ || !may_keep_) return 1;
    return static_cast<int>(std::min<std::int64_t>(target_.max_cluster, tree_.parts));
  }

  void add_if_kept(int vector, int cluster, bool may_be_in_shared, int scale = 1) {
    const int threads = std::max(threads_to_keep(cluster), kLeastThreadsOfCluster) * scale;
    const std::optional<Schedule> made = schedule_of(threads, vector, threads, cluster);
    if (!made || !made->resident) return;
    if (may_be_in_shared || (!made->in_shared && loads_enough(*made))) list_.add(*made);
  }

  /// Where rows are few, clusters that put more SMs to work. Where no block keeps a row by itself,
  /// the smallest that have it in registers first, then those that have it in shared memory.
  void add_clusters(int wide) {
    if (most_blocks() == 1) return;
    if (const int filling = filling_cluster(); filling > 1) {
      add_if_kept(wide, filling, true);
      add_if_kept(4, filling, true);
    }
    const int alone = std::max(ladder(extent_), threads_to_keep(1));
    for (const int vector : {wide, 4})
      if (const auto made = schedule_of(alone, vector, default_threads(), 1);
          made && made->resident)
        return;
    for (const bool in_shared : {false, true})
      for (const int vector : {wide, 4})
        for (int cluster = 2; cluster <= most_blocks(); cluster *= 2)
          add_if_kept(vector, cluster, in_shared);
    if (!list_.schedules().empty()) add_if_kept(wide, list_.schedules().front().cluster, true, 2);
  }

  /// A block that has a row in shared memory is alone on its SM: tuning may find that several with
  /// shares in registers are faster.
  void add_clusters_behind(int wide) {
    const Schedule first = list_.schedules().front();
    if (!first.in_shared || first.cluster > 1) return;
    for (int cluster = 2; cluster <= most_blocks(); cluster *= 2) add_if_kept(wide, cluster, false);
  }

  /// Where the largest cluster that every GPU runs does not keep a row, or just so: twice as many
  /// blocks. Never the first choice, for the device has to be asked whether they fit.
  void add_large_cluster(int wide) {
    const Schedule& first = list_.schedules().front();
    const int cluster = largest_cluster(target_);
    if (!may_keep_ || split_ || cluster == target_.max_cluster || tree_.parts < cluster) return;
    if (!first.resident || first.cluster == target_.max_cluster) add_if_kept(wide, cluster, true);
  }

  /// Of few long rows: the largest cluster whose blocks all find an SM of their own and have enough
  /// to do.
  int filling_cluster() const {
    int cluster = 1;
    while (2 * cluster <= most_blocks() && rows_ * 2 * cluster <= target_.sm_count &&
           extent_ * kept_bytes_ >= 2 * cluster * kLeastShareOfCluster)
      cluster *= 2;
    return cluster;
  }

  /// Where `must_hold_states`, only if registers have place for the accumulators of a pass: the
  /// fewer threads, the more has each.
  void add(int threads_per_row, int vector, int threads, bool must_hold_states = false) {
    const auto made = schedule_of(threads_per_row, vector, threads, 1);
    if (!made) return;
    const std::int64_t words = accumulator_words(*made) + guard_registers(*made);
    if (!must_hold_states || words <= kMostAccumulatorWords) list_.add(*made);
  }

  /// Where results lie along neighbouring rows: blocks that make enough of these.
  void add_tiles(int threads_per_row, int vector) {
    const int rows = split_ ? 0 : rows_of_tiles(body_, facts_);
    for (const int per_row : {threads_per_row, threads_per_row / 2, 2 * threads_per_row}) {
      if (rows == 0 || per_row == 0) continue;
      std::optional<Schedule> made = schedule_of(per_row, vector, rows * per_row, 1);
      if (!made || made->rows_per_block % rows != 0 || made->in_shared) continue;
      const std::int64_t place = target_.shared_per_block_opt_in - shared_bytes(*made);
      if ((may_keep_ && !made->resident) || !fits_tiles(body_, facts_, made->rows_per_block, place))
        continue;
      made->tile = made->rows_per_block;
      list_.add(*made);
    }
  }

  /// None if the tree cannot be dealt out so.
  std::optional<Schedule> schedule_of(int threads_per_row, int vector, int threads,
                                      int cluster) const {
    const int chunks = vector / static_cast<int>(kChunk);
    if (tree_.accumulators < chunks) return std::nullopt;
    // A vector must not straddle two parts; with symbols their length may be odd.
    if (chunks > 1 && tree_.parts > 1 &&
        (!body_.reduced_size().is_number() || tree_.chunks_per_part % chunks != 0))
      return std::nullopt;
    Schedule schedule{.vector = vector, .cluster = cluster, .splits_rows = split_};
    int per_row = std::clamp(threads_per_row, 1, 1024);
    if (split_) {
      schedule.groups = 1;
    } else {
      schedule.groups = static_cast<int>(
          std::min<std::int64_t>(tree_.parts / cluster, std::max(1, per_row / 32)));
    }
    // More threads than accumulators would stand idle.
    const auto most = static_cast<int>(tree_.accumulators / chunks) * schedule.groups;
    per_row = std::min(per_row, most);
    schedule.threads_per_row = per_row;
    schedule.rows_per_block = std::max(1, threads / per_row);
    // Few rows spread over all SMs; whole warps all the same.
    while (schedule.rows_per_block > 1 && rows_ / schedule.rows_per_block < target_.sm_count &&
           schedule.rows_per_block * per_row > 32)
      schedule.rows_per_block /= 2;
    // Where every SM has work, no block starts for less than what that costs.
    if (row_bytes_ * rows_ >= kLeastBytesOfBlock * target_.sm_count)
      while (schedule.rows_per_block * row_bytes_ < kLeastBytesOfBlock &&
             2 * schedule.rows_per_block * per_row <= kMostThreadsThatKeep)
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
    schedule.in_shared = !schedule.resident && fits_shared(schedule);
    if (!schedule.resident && has_loops(schedule)) load_ahead(schedule);
    schedule.resident = schedule.resident || schedule.in_shared;
    return schedule;
  }

  /// True if a thread has more vectors of a part than accumulators: its loops over them are rolled
  /// where they are not kept in registers.
  bool has_loops(const Schedule& schedule) const {
    if (split_ || !body_.reduced_size().is_number()) return false;
    const std::int64_t vectors = vectors_of(schedule) * schedule.groups * schedule.cluster;
    return vectors * schedule.threads_per_row * (schedule.vector / kChunk) >
           tree_.accumulators * schedule.groups * tree_.parts;
  }

  /// Rows that are no arrays of registers are gone through by loops: how many vectors a thread
  /// loads at once there, for the threads of an SM to have as many bytes under way as the target
  /// needs, and how many blocks these registers leave an SM. The compiler is told, since by itself
  /// it saves registers for more blocks and loads less at once.
  void load_ahead(Schedule& schedule) const {
    const std::int64_t bytes = schedule.vector * read_bytes();
    if (bytes == 0) return;
    std::int64_t words = 0;
    for (const Value* load : read_first_) words += words_of(*load, schedule.vector);
    const std::int64_t others = std::max(other_registers(schedule), kLoopRegisters) +
                                (extent_ % schedule.vector == 0 ? 0 : kEndRegisters);
    const std::int64_t shared =
        schedule.in_shared ? shared_bytes_of_rows(schedule) : shared_bytes(schedule);
    int blocks = blocks_per_sm(target_, schedule.threads, kRegistersOfLoops, shared);
    for (; blocks > 0; --blocks) {
      const std::int64_t of_vector = bytes * schedule.threads * blocks;
      const auto wanted =
          static_cast<std::uint64_t>((target_.bytes_in_flight + of_vector - 1) / of_vector);
      const std::int64_t free =
          std::min<std::int64_t>(target_.registers_per_sm / (schedule.threads * blocks),
                                 kMostRegisters) -
          others;
      const std::int64_t most = std::min(free, kWordsAhead) / words;
      if (most < 1 || (blocks > 1 && std::bit_ceil(wanted) > static_cast<std::uint64_t>(most)))
        continue;
      schedule.unroll = static_cast<int>(
          std::min(std::bit_ceil(wanted), std::bit_floor(static_cast<std::uint64_t>(most))));
      schedule.blocks_per_sm = blocks;
      return;
    }
  }

  /// Bytes of an element of what the first pass loads.
  std::int64_t read_bytes() const {
    std::int64_t bytes = 0;
    for (const Value* load : read_first_) bytes += size_of(load->dtype);
    return bytes;
  }

  /// Registers of a vector of `load`: what is loaded at once takes a whole one at least.
  std::int64_t words_of(const Value& load, int vector) const {
    const std::int64_t size = size_of(load.dtype);
    const int each = widest_access(load.at, load.dtype, load.aligned * size, body_.reduced_size(),
                                   body_.reduced_axis(), vector, facts_);
    return vector / each * std::max<std::int64_t>((each * size + 3) / 4, 1);
  }

  std::int64_t vectors_of(const Schedule& schedule) const {
    const std::int64_t per_part =
        std::int64_t{schedule.threads_per_row / schedule.groups} * (schedule.vector / kChunk);
    const std::int64_t tiles = (tree_.chunks_per_part + per_part - 1) / per_part;
    return tiles * (tree_.parts / (schedule.groups * schedule.cluster));
  }

  /// Of what is kept of a row, per element. What is loaded element by element stays like that until
  /// the whole row is there, however narrow it is.
  std::int64_t bytes_in_registers(int vector) const {
    std::int64_t bytes = kept_bytes_;
    for (const Value* load : kept_loads_)
      bytes += words_of(*load, vector) * 4 / vector - size_of(load->dtype);
    return bytes;
  }

  /// A row that is kept in registers is loaded at once: true if the blocks that an SM has place for
  /// then have as many bytes under way as the target needs.
  bool loads_enough(const Schedule& schedule) const {
    const std::int64_t elements = vectors_of(schedule) * schedule.vector;
    const std::int64_t registers = elements * bytes_in_registers(schedule.vector) / 4 +
                                   other_registers(schedule) + guard_registers(schedule);
    return elements * read_bytes() * schedule.threads *
               blocks_per_sm(target_, schedule.threads, static_cast<int>(registers),
                             shared_bytes(schedule)) >=
           target_.bytes_in_flight;
  }

  /// A thread's share of the kept values fits in its registers beside what else it needs.
  bool fits(const Schedule& schedule) const {
    if (!may_keep_) return false;
    const std::int64_t words = std::min<std::int64_t>(
        kKeptWords, target_.registers_per_sm / schedule.threads - other_registers(schedule) -
                        guard_registers(schedule));
    return vectors_of(schedule) * schedule.vector * bytes_in_registers(schedule.vector) <=
               words * 4 &&
           shared_bytes(schedule) <= target_.shared_per_block_opt_in;
  }

  /// Registers of a thread beside what it keeps, or loads ahead.
  std::int64_t other_registers(const Schedule& schedule) const {
    return kOtherRegisters +
           std::max<std::int64_t>(accumulator_words(schedule) - kAccumulatorWords, 0);
  }

  std::int64_t accumulator_words(const Schedule& schedule) const {
    return state_words_ * tree_.accumulators * schedule.groups / schedule.threads_per_row;
  }

  /// And those for the ends of vectors where each has a text of its own.
  std::int64_t guard_registers(const Schedule& schedule) const {
    return extent_ % schedule.vector == 0 ? 0 : kGuardRegisters;
  }

  /// Of a block: what its threads hand over, and the rows that they leave for one another.
  std::int64_t shared_bytes(const Schedule& schedule) const {
    return exchange_bytes(schedule) + staged_bytes_ * schedule.rows_per_block;
  }

  std::int64_t exchange_bytes(const Schedule& schedule) const {
    return 2 * state_bytes_ *
           (std::int64_t{schedule.threads} * (schedule.vector / kChunk) +
            (schedule.cluster > 1 ? schedule.cluster : 0));
  }

  /// The block's shared memory holds the kept values of its rows.
  bool fits_shared(const Schedule& schedule) const {
    if (split_ || !may_keep_) return false;
    return shared_bytes_of_rows(schedule) <= target_.shared_per_block_opt_in;
  }

  std::int64_t shared_bytes_of_rows(const Schedule& schedule) const {
    return exchange_bytes(schedule) +
           vectors_of(schedule) * schedule.vector * schedule.threads * slot_bytes_;
  }

  Schedule fallback() const {
    return {.threads = 32, .vector = 4, .threads_per_row = 1, .rows_per_block = 32, .groups = 1};
  }

  const Body& body_;
  const Target& target_;
  const Facts& facts_;
  bool split_;
  std::int64_t extent_;
  std::int64_t rows_;
  Tree tree_;
  std::int64_t state_bytes_;  ///< of the widest reduction
  Sizes sizes_;
  bool may_keep_;  ///< several passes go over rows of a known length
  // Of what is kept of a row, per element: in registers, in shared memory.
  std::int64_t kept_bytes_ = 0;
  std::int64_t slot_bytes_ = 0;
  std::int64_t staged_bytes_ = 0;  ///< of a row that threads leave for one another, at most
  std::int64_t state_words_ = 0;   ///< of one accumulator of each reduction of a pass, at most
  std::int64_t heavy_words_ = 0;   ///< that taking an element in needs
  std::int64_t row_bytes_ = 0;     ///< read and written; 0: enough for a block
  std::vector<const Value*> kept_loads_;
  std::vector<const Value*> read_first_;  ///< what the first pass loads along rows
  CandidateList list_;
};

}  // namespace

std::vector<Schedule> row_candidates(const Body& body, const Target& target, const Facts& facts,
                                     bool split) {
  return RowCandidates(body, target, facts, split).make();
}

}  // namespace sinter
