#include "compiler/candidates/copied_candidates.h"

#include <algorithm>

#include "compiler/body/access.h"
#include "compiler/candidates/candidate_list.h"
#include "compiler/candidates/register_estimate.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/tiling/copied_loads.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

/// As CUB's DeviceTransform, for the same copies.
constexpr int kThreads = 256;
constexpr int kMinThreads = 64;
/// Resident blocks that together have enough bytes in flight. With 256 threads each, they leave 64
/// registers per thread.
constexpr int kCopyingBlocks = 4;
constexpr int kRegisters = 64;
constexpr int kMinStages = 2;
constexpr int kMaxStages = 8;
/// A stage is filled at most as many times. Further tiles are work of other blocks, which spread it
/// evenly over the SMs.
constexpr std::int64_t kMaxFills = 8;
/// Minimum and maximum groups of rows that a block computes one after another.
constexpr std::int64_t kMinTurns = 3;
constexpr std::int64_t kMaxTurns = 64;
/// Registers of the loop over groups of rows, and of the addresses of copies.
constexpr int kTurnRegisters = 10;

class CopiedTiles {
 public:
  CopiedTiles(const Schedule& direct, const Body& body, const Target& target, const Facts& facts)
      : direct_(direct),
        body_(body),
        target_(target),
        facts_(facts),
        size_(evaluate(body.parallel_size(), facts.symbols)) {}

  /// The schedules for one kind of copies. The first one fills its stages several times if the
  /// arrays are large enough. The last one fills them once, so that no stage is used again.
  std::vector<Schedule> make(Copies copies) const {
    Schedule schedule{.threads = kThreads,
                      .vector = direct_.vector,
                      .is_flat = direct_.is_flat,
                      .copies = copies,
                      .stages = kMinStages};
    const std::vector<int> loads = copied_loads(body_, schedule, facts_);
    if (loads.empty() || loads.size() > kMaxCopiedLoads) return {};
    for (; schedule.threads >= kMinThreads; schedule.threads /= 2) {
      const std::int64_t bytes = stage_bytes(body_, loads, schedule);
      const std::int64_t needed = std::max(target_.bytes_in_flight, kCopiedBytesInFlight);
      schedule.stages = static_cast<int>(std::clamp<std::int64_t>(
          divide_up(needed, kCopyingBlocks * bytes), kMinStages, kMaxStages));
      const int resident = blocks_per_sm(target_, schedule.threads, kRegisters,
                                         copied_shared_bytes(bytes, schedule));
      if (resident * schedule.stages * bytes >= needed) return with_fills(schedule, resident);
    }
    return {};
  }

 private:
  std::vector<Schedule> with_fills(Schedule schedule, int resident) const {
    const std::int64_t wave = std::int64_t{resident} * target_.sm_count * schedule.stages *
                              copied_elements(body_, schedule);
    const std::int64_t fills = std::min(size_ / wave, kMaxFills);
    std::vector<Schedule> result;
    for (std::int64_t times = fills; times > 0; times = times > 1 ? 1 : 0) {
      schedule.unroll = schedule.stages * static_cast<int>(times);
      result.push_back(schedule);
    }
    return result;
  }

  const Schedule& direct_;
  const Body& body_;
  const Target& target_;
  const Facts& facts_;
  std::int64_t size_;
};

/// Schedules of row kernels. The blocks of all SMs run at once, and each computes groups of rows in
/// turn. While it works on one group, copies bring the next ones.
class CopiedRows {
 public:
  CopiedRows(const Schedule& direct, const Body& body, const Target& target, const Facts& facts)
      : direct_(direct),
        body_(body),
        target_(target),
        facts_(facts),
        tree_(tree_of(body.reduced_size().number())),
        plan_(plan_resident_passes(body)),
        registers_(body, tree_, plan_, facts) {}

  std::vector<Schedule> make(Copies copies) const {
    Schedule schedule = direct_;
    schedule.copies = copies;
    const std::vector<int> loads = copied_loads(body_, schedule, facts_);
    if (loads.empty() || loads.size() > kMaxCopiedLoads) return {};
    const std::int64_t bytes = stage_bytes(body_, loads, schedule);
    const std::int64_t needed = std::max(target_.bytes_in_flight, kCopiedBytesInFlight);
    for (schedule.stages = kMinStages; schedule.stages <= kMaxStages; ++schedule.stages) {
      const int resident = resident_blocks(schedule, bytes);
      if (resident * stages_in_flight(body_, loads, schedule) * bytes < needed) continue;
      const std::int64_t rows = evaluate(body_.parallel_size(), facts_.symbols);
      const std::int64_t at_once =
          std::int64_t{resident} * target_.sm_count * schedule.rows_per_block;
      schedule.unroll = static_cast<int>(std::min(divide_up(rows, at_once), kMaxTurns));
      if (schedule.unroll < std::max<std::int64_t>(kMinTurns, schedule.stages)) return {};
      return {schedule};
    }
    return {};
  }

 private:
  int resident_blocks(const Schedule& schedule, std::int64_t bytes) const {
    const std::int64_t exchange =
        2 * widest_state(body_) * schedule.threads * (schedule.vector / kChunk);
    const auto registers = static_cast<int>(
        registers_.of_thread(schedule, registers_.of_data(schedule)) + kTurnRegisters);
    return blocks_per_sm(target_, schedule.threads, registers,
                         exchange + copied_shared_bytes(bytes, schedule));
  }

  const Schedule& direct_;
  const Body& body_;
  const Target& target_;
  const Facts& facts_;
  Tree tree_;
  PassPlan plan_;
  RowRegisters registers_;
};

/// The schedules of both kinds of copies that the GPU has, bulk copies first.
std::vector<Schedule> made_by(const auto& copied, const Target& target) {
  std::vector<Schedule> made;
  if (target.compute_capability >= 90) made = copied.make(Copies::bulk);
  if (target.compute_capability >= 80) {
    std::vector<Schedule> of_threads = copied.make(Copies::thread);
    // Where bulk copies are possible, one schedule without them is enough.
    if (!made.empty() && of_threads.size() > 1) of_threads.resize(1);
    made.insert(made.end(), of_threads.begin(), of_threads.end());
  }
  return made;
}

}  // namespace

std::vector<Schedule> with_copies(std::vector<Schedule> direct, const Body& body,
                                  const Target& target, const Facts& facts) {
  // Transposed operands are not contiguous.
  if (direct.empty() || direct.front().tile > 0 || body.parallel_axes == 0) return direct;
  std::vector<Schedule> added;
  if (!body.has_reduced_axis)
    added = made_by(CopiedTiles(direct.front(), body, target, facts), target);
  else if (may_copy_rows(body, direct.front()))
    added = made_by(CopiedRows(direct.front(), body, target, facts), target);
  if (added.empty()) return direct;
  direct.insert(direct.begin() + 1, added.begin(), added.end());
  // The last schedules differ most from the first, so those before them make room. One place
  // remains for cache hints.
  constexpr std::size_t kLast = 3;
  constexpr std::size_t kMost = kMaxCandidates - 1;
  if (direct.size() > kMost) {
    const auto end = direct.end() - kLast;
    direct.erase(end - static_cast<std::ptrdiff_t>(direct.size() - kMost), end);
  }
  return direct;
}

}  // namespace sinter
