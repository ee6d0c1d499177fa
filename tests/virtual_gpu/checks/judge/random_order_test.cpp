// Random traces of small grids: HappensBefore and Shadow agree with the naive model.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/virtual_gpu/checks/happens_before.h"
#include "tests/virtual_gpu/checks/judge/naive_order.h"
#include "tests/virtual_gpu/checks/shadow.h"

namespace sinter::virtual_gpu::random_order_test {
namespace {

constexpr std::uint64_t kBytes = 64;

struct Actor {
  ThreadClock* clock;
  int naive;
  std::uint64_t phases = 0;  ///< of cluster barriers that it arrived at
  bool has_arrived = false;
};

/// One block; only a few of its threads act, in two warps.
struct Block {
  std::unique_ptr<BlockClock> clock;
  std::vector<Actor> actors;
};

struct Cluster {
  std::vector<int> blocks;
  std::uint64_t number = 0;
  int arrived = 0, waited = 0;
  bool is_open = true;  ///< for arrivals
  std::vector<std::pair<NaiveOrder::Vector, bool>> arrivals = {};
};

struct Launch {
  std::uint32_t number = 0;
  std::vector<Block> blocks;
  std::vector<Cluster> clusters;
  std::vector<std::uint32_t> before, waits_for;
  std::vector<std::uint32_t> before_by_driver;  ///< without those that a launch waited for itself
  bool has_ended = false, has_waited = false;
};

class Trace {
 public:
  explicit Trace(unsigned seed) : random_(seed), shadow_(kBytes) {}

  /// Runs random events; `weak_share` in percent.
  void run(int events) {
    shares_flags_ = percent(50);
    weak_share_ = 20 + below(70);
    sync_share_ = 20 + below(60);
    begin_launch();
    for (int i = 0; i < events && !is_over_; ++i) step();
  }
  int accesses() const { return accesses_; }
  int conflicts() const { return conflicts_; }

 private:
  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  bool percent(int share) { return below(100) < share; }
  template <class T>
  T& pick(std::vector<T>& items) {
    return items[below(static_cast<int>(items.size()))];
  }

  /// The launch and those that are ordered before its end.
  std::vector<std::uint32_t> until_end_of(std::uint32_t number) const {
    const Launch& launch = *launches_[number - 1];
    std::vector<std::uint32_t> result = launch.before;
    result.push_back(number);
    for (const std::uint32_t waited : launch.waits_for) {
      if (!launch.has_waited) continue;
      const std::vector<std::uint32_t> more = until_end_of(waited);
      result.insert(result.end(), more.begin(), more.end());
    }
    return result;
  }

  void begin_launch() {
    auto launch = std::make_unique<Launch>();
    for (const auto& earlier : launches_) {
      if (earlier->has_ended && percent(60)) {
        const std::vector<std::uint32_t> ended = until_end_of(earlier->number);
        launch->before.insert(launch->before.end(), ended.begin(), ended.end());
        std::vector<std::uint32_t>& known = launch->before_by_driver;
        known.insert(known.end(), earlier->before_by_driver.begin(),
                     earlier->before_by_driver.end());
        known.push_back(earlier->number);
      } else if (!earlier->has_ended && percent(40)) {
        launch->waits_for.push_back(earlier->number);
      }
    }
    if (is_retired_)  // all that ended by then
      for (std::uint32_t i = 1; i <= retired_; ++i) {
        launch->before.push_back(i);
        launch->before_by_driver.push_back(i);
      }
    const std::vector<std::uint32_t> ordered = launch->before_by_driver;
    launch->number = order_.begin_launch(
        [ordered](std::uint32_t earlier) {
          return std::find(ordered.begin(), ordered.end(), earlier) != ordered.end();
        },
        launch->waits_for, "launch");
    const int blocks = 1 + below(4);
    const int threads[] = {3, 34};
    for (int b = 0; b < blocks; ++b)
      launch->blocks.push_back(begin_block(*launch, b, threads[below(2)]));
    const int size = 1 + below(blocks);
    for (int b = 0; b < blocks; ++b) {
      if (b % size == 0) launch->clusters.push_back({.blocks = {}, .number = phases_ += 1000});
      launch->clusters.back().blocks.push_back(b);
    }
    launches_.push_back(std::move(launch));
  }

  Block begin_block(const Launch& launch, int number, int threads) {
    Block block{.clock = order_.begin_block(launch.number, number, threads), .actors = {}};
    for (const int thread : {0, 1, threads - 1}) {
      const int naive = naive_.add_thread(launch.number, number, thread);
      for (const std::uint32_t earlier : launch.before) naive_.know_launch(naive, earlier);
      block.actors.push_back({.clock = &order_.thread(*block.clock, thread), .naive = naive});
    }
    return block;
  }

  void step() {
    std::vector<Launch*> running;
    for (auto& launch : launches_)
      if (!launch->has_ended) running.push_back(launch.get());
    const std::size_t most = shares_flags_ ? 2 : 6;
    if (running.empty() || (launches_.size() < most && percent(1))) {
      if (launches_.size() == most) {
        is_over_ = true;
        return;
      }
      if (running.empty() && percent(50)) retire();
      return begin_launch();
    }
    Launch& launch = *pick(running);
    if (below(600) == 0) {
      launch.has_ended = true;
      return;
    }
    Block& block = pick(launch.blocks);
    Actor& actor = pick(block.actors);
    if (percent(15)) return access_together(launch, block);
    if (percent(60)) return access(launch, actor);
    synchronize(launch, block, actor);
  }

  void retire() {
    retired_ = static_cast<std::uint32_t>(launches_.size());
    is_retired_ = true;
    order_.retire(retired_);
  }

  void synchronize(Launch& launch, Block& block, Actor& actor) {
    switch (below(10)) {
      case 0: {
        order_.block_barrier(*block.clock);
        std::vector<int> members;
        for (const Actor& one : block.actors) members.push_back(one.naive);
        return naive_.barrier(members);
      }
      case 1: {
        const std::uint32_t pair[] = {block.actors[0].clock->thread, block.actors[2].clock->thread};
        order_.barrier_of(*block.clock, pair);
        return naive_.barrier({block.actors[0].naive, block.actors[2].naive});
      }
      case 2: return wait_for_launches(launch, actor);
      case 3:
      case 4:
      case 5: return meet_cluster(launch, actor);
      default: order_.fence(*actor.clock); return naive_.fence(actor.naive);
    }
  }

  void wait_for_launches(Launch& launch, Actor& actor) {
    for (const std::uint32_t earlier : launch.waits_for)
      if (!launches_[earlier - 1]->has_ended) return;
    order_.wait_for_prior_launches(*actor.clock);
    launch.has_waited = true;
    for (const std::uint32_t earlier : launch.waits_for)
      for (const std::uint32_t one : until_end_of(earlier)) naive_.know_launch(actor.naive, one);
  }

  /// One actor arrives, or waits if all have arrived. The other threads of the block count as
  /// exited.
  void meet_cluster(Launch& launch, Actor& actor) {
    const auto number = static_cast<int>(actor.clock->block->id.block);
    const auto cluster =
        std::find_if(launch.clusters.begin(), launch.clusters.end(), [&](const Cluster& one) {
          return std::find(one.blocks.begin(), one.blocks.end(), number) != one.blocks.end();
        });
    const int members = static_cast<int>(cluster->blocks.size()) * 3;
    if (cluster->is_open && !actor.has_arrived) {
      const bool is_release = percent(80);
      cluster->arrivals.push_back({naive_.now(actor.naive), is_release});
      order_.cluster_arrive(*actor.clock, cluster->number, is_release);
      actor.has_arrived = true;
      if (++cluster->arrived == members) cluster->is_open = false;
    } else if (!cluster->is_open && actor.has_arrived) {
      const bool is_acquire = percent(80);
      order_.cluster_wait(*actor.clock, cluster->number, is_acquire);
      for (const auto& [clock, is_release] : cluster->arrivals)
        if (is_acquire && is_release) naive_.join(naive_.threads[actor.naive].clock, clock);
      actor.has_arrived = false;
      if (++cluster->waited < members) return;
      *cluster = {.blocks = cluster->blocks, .number = cluster->number + 1};
    }
  }

  void access(const Launch& launch, Actor& actor) {
    constexpr AccessKind kKinds[] = {AccessKind::read, AccessKind::read, AccessKind::write,
                                     AccessKind::atomic};
    Access access = {.kind = kKinds[below(4)], .line = ++line_};
    const bool is_flag = percent(sync_share_);
    if (is_flag) {
      access.offset = 4 * below(3);
      access.bytes = 4;
      access.is_strong = !percent(weak_share_ / 3);
    } else {
      access.bytes = std::uint64_t{1} << below(5);
      access.offset = 16 + access.bytes * below(static_cast<int>(48 / access.bytes));
      access.is_strong = !percent(weak_share_);
      if (access.kind == AccessKind::read && percent(15)) access.kind = AccessKind::read_only;
    }
    if (access.kind == AccessKind::read_only) access.is_strong = false;
    const bool is_done = compare(launch, actor, access);
    if (is_done && (access.is_strong || access.kind == AccessKind::atomic))
      synchronize_by(launch, actor, access);
  }

  /// One instruction of the warp whose first threads act: a row, or the same bytes for all.
  void access_together(const Launch& launch, const Block& block) {
    constexpr AccessKind kKinds[] = {AccessKind::read, AccessKind::write, AccessKind::read_only};
    const bool is_row = percent(70);
    Access access = {.kind = kKinds[below(is_row ? 3 : 2) * (is_row ? 1 : 2)], .line = ++line_};
    access.bytes = std::uint64_t{1} << below(is_row ? 4 : 5);
    access.offset = 16 + access.bytes * below(static_cast<int>(24 / access.bytes));
    std::vector<const Actor*> actors;
    Mask lanes = 0;
    for (const Actor& actor : block.actors)
      if (actor.clock->warp() == 0 && percent(85)) {
        lanes |= actor.clock->lane_bit();
        actors.push_back(&actor);
      }
    if (actors.empty()) return;
    const auto of_lane = [&](const Actor& actor) {
      Access part = access;
      if (is_row) part.offset += actor.clock->thread * access.bytes;
      return part;
    };
    // A conflict behind the first lane ends the trace, so most of these are left out.
    const auto conflicts = [&](const Actor* actor) {
      return naive_.would_conflict(of_lane(*actor), actor->naive);
    };
    if (std::any_of(actors.begin(), actors.end(), conflicts) && below(10)) return;
    std::optional<std::uint64_t> expected;
    for (const Actor* actor : actors) {
      const auto conflict = naive_.access(of_lane(*actor), actor->naive);
      if (conflict) expected = conflict->first;
      if (expected) break;
    }
    const auto found = is_row ? shadow_.access_row(access, *block.clock, 0, lanes, order_)
                              : shadow_.access_common(access, *block.clock, 0, lanes, order_);
    ++accesses_;
    conflicts_ += expected.has_value();
    EXPECT_EQ(found.has_value(), expected.has_value())
        << "line " << access.line << " of launch " << launch.number;
    EXPECT_EQ(found ? found->offset : 0, expected.value_or(0));
    // The lanes in front of the conflict are recorded already.
    is_over_ = found.has_value() || expected.has_value();
  }

  void synchronize_by(const Launch& launch, Actor& actor, const Access& access) {
    const std::uint64_t address = access.offset + (shares_flags_ ? 0 : launch.number * kBytes);
    const bool is_write = access.kind >= AccessKind::write;
    const bool is_atomic = access.kind == AccessKind::atomic;
    const bool is_release = is_write && percent(20);
    const bool is_acquire = (is_atomic || !is_write) && percent(20);
    if (is_write) {
      order_.strong_write(*actor.clock, address, is_atomic, is_release, is_acquire);
      naive_.strong_write(actor.naive, address, is_atomic, is_release, is_acquire);
    } else {
      order_.strong_read(*actor.clock, address, is_acquire);
      naive_.strong_read(actor.naive, address, is_acquire);
    }
  }

  /// True if both models have no conflict.
  bool compare(const Launch& launch, const Actor& actor, const Access& access) {
    const auto expected = naive_.access(access, actor.naive);
    // A conflict behind the first granule ends the trace, so most of these are left out.
    if (expected && expected->first >= access.offset + access.bytes / 2 && below(500)) return false;
    const auto found = shadow_.access(access, *actor.clock, order_);
    ++accesses_;
    conflicts_ += expected.has_value();
    if (found.has_value() != expected.has_value()) {
      is_over_ = true;
      ADD_FAILURE() << "line " << access.line << (found ? ": false" : ": missed")
                    << " conflict with line "
                    << (found ? found->earlier.line : expected->second[0].past.line);
    }
    if (!found || !expected) return !is_over_;
    EXPECT_EQ(found->offset, expected->first);
    const ThreadPosition position = order_.position_of(found->earlier);
    const bool is_known = std::any_of(
        expected->second.begin(), expected->second.end(), [&](const NaiveOrder::Found& one) {
          const NaiveOrder::Thread& thread = naive_.threads[one.past.thread];
          return one.breaks_read_only == found->breaks_read_only &&
                 one.past.is_write == found->earlier_is_write &&
                 (!one.past.is_write || one.past.line == found->earlier.line) &&
                 thread.launch == position.launch && thread.block == position.block &&
                 thread.thread == position.thread;
        });
    EXPECT_TRUE(is_known) << "line " << access.line << " of launch " << launch.number;
    // Earlier granules of the access are recorded already.
    is_over_ = found->offset != access.offset;
    return false;
  }

  std::mt19937 random_;
  HappensBefore order_;
  Shadow shadow_;
  NaiveOrder naive_;
  std::vector<std::unique_ptr<Launch>> launches_;
  std::uint64_t phases_ = 0;
  std::uint32_t retired_ = 0;
  bool is_retired_ = false, is_over_ = false;
  /// Launches synchronise with each other by memory. HappensBefore does not hand such knowledge to
  /// a third launch that is ordered behind one of them.
  bool shares_flags_ = false;
  int weak_share_ = 0, sync_share_ = 0, line_ = 0;
  int accesses_ = 0, conflicts_ = 0;
};

TEST(RandomOrder, AgreesWithFullVectorClocks) {
  constexpr unsigned kTraces = 2000;
  int accesses = 0, conflicts = 0;
  for (unsigned seed = 0; seed < kTraces; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Trace trace(seed);
    trace.run(1000);
    accesses += trace.accesses();
    conflicts += trace.conflicts();
    if (HasFailure()) return;
  }
  // The traces must test both answers.
  EXPECT_GT(conflicts, accesses / 10);
  EXPECT_GT(accesses - conflicts, accesses / 4);
}

}  // namespace
}  // namespace sinter::virtual_gpu::random_order_test
