#include "compiler/row_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "compiler/access.h"
#include "compiler/cost.h"
#include "compiler/schedule_kernel.h"
#include "compiler/tree.h"

namespace sinter {

namespace {

constexpr std::size_t kMost = 12;
/// The last blocks join pieces by two steps, each of which a thread unrolls.
constexpr std::int64_t kMostPieces = 4096;

std::int64_t bit_floor(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(value)));
}

/// How the threads of one row deal it out.
struct Row {
  int threads = 1;
  int vector = 4;
  int groups = 1;
  std::int64_t held = 0;  ///< elements of a thread
};

constexpr double kNever = 1e30;

struct Timed {
  Schedule schedule;
  double seconds = 0;  ///< as predicted
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
      if (value.kind != Value::Kind::load)
        fixed_bytes_ += size_of(info(value.dtype).compute);
      else if (loads_ahead(body) && !is_same_in_rows(body, value))
        loaded_bytes_ += size_of(value.dtype);
      else
        fixed_bytes_ += size_of(value.dtype);
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
    std::vector<Row> rows;
    for (const int vector : {largest_ <= 2 ? 8 : 4, 4})
      for (const int threads : {8, 16, 32, 64, 128, 256, 512, 1024})
        if (const std::optional<Row> row = row_of(threads, vector))
          if (std::ranges::find(rows, row->threads, &Row::threads) == rows.end())
            rows.push_back(*row);
    for (const Row& row : rows)
      for (const int ahead : {1, 2, 4})
        for (const int scale : {1, 2, 4, 8}) add(row, ahead, scale);
    std::ranges::stable_sort(list_, {}, &Timed::seconds);
    std::vector<Schedule> result;
    for (const Timed& timed : list_) {
      // Some of each way to go through the rows: the prediction knows little of them.
      constexpr int kOfOneKind = 2;
      const auto alike = std::ranges::count_if(result, [&](const Schedule& known) {
        return known.threads_per_row == timed.schedule.threads_per_row &&
               known.unroll == timed.schedule.unroll;
      });
      if (alike < kOfOneKind && result.size() < kMost) result.push_back(timed.schedule);
    }
    return result;
  }

 private:
  std::optional<Row> row_of(int threads, int vector) const {
    const int chunks = vector / static_cast<int>(kChunk);
    if (along_.accumulators < chunks) return std::nullopt;
    if (chunks > 1 && along_.parts > 1 && along_.chunks_per_part % chunks != 0) return std::nullopt;
    Row row{.vector = vector};
    row.groups = static_cast<int>(std::min<std::int64_t>(along_.parts, std::max(1, threads / 32)));
    row.threads = static_cast<int>(
        std::min<std::int64_t>(threads, along_.accumulators / chunks * row.groups));
    const std::int64_t stride = std::int64_t{row.threads / row.groups} * chunks;
    const std::int64_t tiles = (along_.chunks_per_part + stride - 1) / stride;
    row.held = tiles * vector * (along_.parts / row.groups);
    if (registers(row, 1) > most_registers(row)) return std::nullopt;
    return row;
  }

  /// What a thread takes with `ahead` rows under way.
  std::int64_t registers(const Row& row, int ahead) const {
    constexpr std::int64_t kForTheRest = 24;
    constexpr std::int64_t kForRows = 8;
    return row.held * (fixed_bytes_ + ahead * loaded_bytes_) / 4 + kForTheRest + kForRows * ahead;
  }
  std::int64_t most_registers(const Row& row) const {
    // What is estimated is too little where a thread has much to do.
    constexpr int kMostEstimated = 224;
    return std::min(kMostEstimated, target_.registers_per_sm / row.threads);
  }

  /// `ahead` rows are loaded at once; about `scale` blocks to an SM.
  void add(const Row& row, int ahead, int scale) {
    if (!loads_ahead(body_) && ahead > 1) return;
    if (registers(row, ahead) > most_registers(row)) return;
    Schedule schedule{.vector = row.vector,
                      .unroll = ahead,
                      .threads_per_row = row.threads,
                      .groups = row.groups,
                      .resident = body_.passes() > 1};
    // Whole warps, where some pieces may have no rows; then what there is for 128 threads.
    const std::int64_t most = std::min(over_.parts * over_.accumulators, kMostPieces);
    const std::int64_t together = std::max<std::int64_t>(
        std::min<std::int64_t>(128 / row.threads, most), (32 + row.threads - 1) / row.threads);
    schedule.rows_per_block = static_cast<int>(std::max<std::int64_t>(together, 1));
    schedule.threads = schedule.rows_per_block * row.threads;
    const std::int64_t least = std::max(over_.parts, together);
    schedule.pieces =
        static_cast<int>(std::clamp(bit_floor(target_.sm_count) * scale * schedule.rows_per_block,
                                    least, std::max(most, least)));
    if (std::ranges::find(list_, schedule, &Timed::schedule) != list_.end()) return;
    if (const double time = seconds(row, schedule); time < kNever)
      list_.push_back({.schedule = schedule, .seconds = time});
  }

  /// Rows under way against what they take, the bytes, and what the last blocks do: roughly.
  double seconds(const Row& row, const Schedule& schedule) const {
    constexpr double kLoads = 1e-6;          // until what is loaded is there
    constexpr double kPass = 0.3e-6;         // a pass over a row, with a reduction of the block
    constexpr double kElement = 15e-9;       // of a thread
    constexpr double kJoinBandwidth = 80e9;  // of one block
    constexpr double kTicket = 1e-6;
    const int there =
        blocks_per_sm(target_, schedule.threads, static_cast<int>(registers(row, schedule.unroll)),
                      shared_bytes(row, schedule));
    if (there == 0) return kNever;
    const std::int64_t slots = std::int64_t{there} * target_.sm_count;
    const std::int64_t blocks = schedule.pieces / schedule.rows_per_block;
    const auto turns = static_cast<double>((blocks + slots - 1) / slots);
    const double rows = static_cast<double>(over_.extent) / schedule.pieces;
    const double rounds = std::ceil(rows / kChunk) * kChunk / schedule.unroll;
    const double per_row = kPass * body_.passes() + kElement * static_cast<double>(row.held);
    const double waiting = turns * rounds * (kLoads + per_row * schedule.unroll);
    const double states = static_cast<double>(along_.extent * state_bytes_);
    const double bytes = element_bytes_ * static_cast<double>(over_.extent * along_.extent) +
                         2 * states * schedule.pieces;
    const int per_group = pieces_per_group(schedule);
    const double joins = states * (per_group + schedule.pieces / per_group) / kJoinBandwidth;
    return std::max(waiting, bytes / target_.bandwidth) + joins + 2 * kTicket;
  }

  std::int64_t shared_bytes(const Row& row, const Schedule& schedule) const {
    const std::int64_t levels = waiting_levels(over_, schedule.pieces);
    constexpr std::int64_t kWidestExchange = 24 * 2;
    return schedule.threads *
           (levels * row.held * state_bytes_ + kWidestExchange * (row.vector / kChunk));
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
  double element_bytes_ = 0;  ///< loaded and stored, as far as rows differ in it
  std::vector<Timed> list_;
};

}  // namespace

bool loads_ahead(const Body& body) { return body.indirect.empty(); }

int waiting_levels(const Tree& over_rows, std::int64_t pieces) {
  const std::int64_t turns =
      std::max<std::int64_t>(over_rows.parts * over_rows.accumulators / pieces, 1);
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(turns))) - 1;
}

int pieces_per_group(const Schedule& schedule) {
  constexpr int kShort = 32;
  int result = schedule.rows_per_block;
  // Two steps of as many joins each, unless one step is short.
  while (result < schedule.pieces &&
         (schedule.pieces <= kShort || std::int64_t{result} * result < schedule.pieces))
    result *= 2;
  return result;
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
  if (lies_across_rows(body, facts))
    return "neighbouring elements in memory belong to different rows";
  if (row_column_candidates(body, target, facts).empty())
    return fmt::format("rows of {} elements with {} sum{} for each column do not fit in registers",
                       body.reduced_size().number(), body.columns.size(),
                       body.columns.size() == 1 ? "" : "s");
  return {};
}

}  // namespace sinter
