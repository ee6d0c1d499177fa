#include "compiler/candidates/copied_candidates.h"

#include <algorithm>

#include "compiler/candidates/candidate_list.h"
#include "compiler/tiling/copied_loads.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

/// As CUB's DeviceTransform, for the same copies.
constexpr int kThreads = 256;
constexpr int kMinThreads = 64;
/// Resident blocks that together have enough bytes in flight. With 256 threads each, they leave 64
/// registers per thread.
constexpr int kBlocksPerSm = 4;
constexpr int kRegisters = 64;
constexpr int kMinStages = 2;
constexpr int kMaxStages = 8;
/// A stage is filled at most as many times. Further tiles are work of other blocks, which spread it
/// evenly over the SMs.
constexpr std::int64_t kMaxFills = 8;

class CopiedCandidates {
 public:
  CopiedCandidates(const Schedule& direct, const Body& body, const Target& target,
                   const Facts& facts)
      : direct_(direct),
        body_(body),
        target_(target),
        facts_(facts),
        size_(evaluate(body.parallel_size(), facts.symbols)) {}

  /// The schedules for one kind of copies: one that fills its stages several times, and one that
  /// fills them once and needs no check that they may be filled again.
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
          divide_up(needed, kBlocksPerSm * bytes), kMinStages, kMaxStages));
      const int resident = blocks_per_sm(target_, schedule.threads, kRegisters,
                                         copied_shared_bytes(bytes, schedule));
      if (resident * schedule.stages * bytes >= needed) return with_fills(schedule, resident);
    }
    return {};
  }

 private:
  std::vector<Schedule> with_fills(Schedule schedule, int resident) const {
    const std::int64_t wave =
        std::int64_t{resident} * target_.sm_count * schedule.stages * copied_elements(schedule);
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

}  // namespace

std::vector<Schedule> with_copies(std::vector<Schedule> direct, const Body& body,
                                  const Target& target, const Facts& facts) {
  // Transposed operands are not contiguous.
  if (direct.empty() || direct.front().tile > 0 || body.parallel_axes == 0) return direct;
  const CopiedCandidates copied(direct.front(), body, target, facts);
  std::vector<Schedule> added;
  if (target.compute_capability >= 90) added = copied.make(Copies::bulk);
  if (target.compute_capability >= 80) {
    std::vector<Schedule> of_threads = copied.make(Copies::thread);
    // Where bulk copies are possible, one schedule without them is enough.
    if (!added.empty() && of_threads.size() > 1) of_threads.resize(1);
    added.insert(added.end(), of_threads.begin(), of_threads.end());
  }
  direct.insert(direct.begin() + 1, added.begin(), added.end());
  if (direct.size() > kMaxCandidates) direct.resize(kMaxCandidates);
  return direct;
}

}  // namespace sinter
