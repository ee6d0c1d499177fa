// allocate_registers: places for virtual registers, by a linear scan of their live intervals.
#include <algorithm>
#include <bit>

#include "tests/virtual_gpu/program/draft.h"

namespace sinter::virtual_gpu {

namespace {

using Bits = std::vector<std::uint64_t>;

bool test(const Bits& bits, std::size_t i) { return ((bits[i / 64] >> (i % 64)) & 1) != 0; }
void set(Bits& bits, std::size_t i) { bits[i / 64] |= std::uint64_t{1} << (i % 64); }

/// Registers that are read before they are written, written, and live at the ends of a block.
struct Liveness : BasicBlock {
  Bits uses, kills, live_in, live_out;
};

/// Uses before any definition, and unconditional definitions. A guarded definition keeps the values
/// of some lanes, so it ends no live range.
void find_uses(Liveness& block, std::vector<Draft>& drafts, std::size_t words) {
  block.uses = block.kills = block.live_in = block.live_out = Bits(words);
  for (std::size_t i = block.begin; i < block.end; ++i) {
    for_each_register(drafts[i], [&](Slot& slot, bool is_result) {
      const auto id = static_cast<std::size_t>(slot - kVirtual);
      if (!is_result && !test(block.kills, id)) set(block.uses, id);
    });
    if (drafts[i].operation.guard != kNoSlot) continue;
    for_each_register(drafts[i], [&](Slot& slot, bool is_result) {
      if (is_result) set(block.kills, static_cast<std::size_t>(slot - kVirtual));
    });
  }
}

void find_live(std::vector<Liveness>& blocks) {
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (std::size_t i = blocks.size(); i-- > 0;) {
      Liveness& block = blocks[i];
      for (std::size_t w = 0; w < block.uses.size(); ++w) {
        std::uint64_t out = 0;
        for (const std::size_t next : block.successors) out |= blocks[next].live_in[w];
        const std::uint64_t in = block.uses[w] | (out & ~block.kills[w]);
        is_changed |= in != block.live_in[w] || out != block.live_out[w];
        block.live_in[w] = in;
        block.live_out[w] = out;
      }
    }
  }
}

/// The positions from the first to the last at which a register is live. A draft reads at an even
/// position and writes at the odd one behind it.
struct Interval {
  std::size_t id = 0;
  std::int64_t begin = -1, end = -1;
  void include(std::int64_t position) {
    if (begin < 0) begin = position;
    begin = std::min(begin, position);
    end = std::max(end, position);
  }
};

std::vector<Interval> find_intervals(DraftKernel& draft) {
  const std::size_t words = (draft.widths.size() + 63) / 64;
  std::vector<Liveness> blocks;
  for (BasicBlock& block : find_blocks(draft.drafts))
    blocks.push_back({std::move(block), {}, {}, {}, {}});
  for (Liveness& block : blocks) find_uses(block, draft.drafts, words);
  find_live(blocks);
  std::vector<Interval> intervals(draft.widths.size());
  for (std::size_t id = 0; id < intervals.size(); ++id) intervals[id].id = id;
  const auto include_all = [&](const Bits& live, std::int64_t position) {
    for (std::size_t w = 0; w < live.size(); ++w)
      for (std::uint64_t rest = live[w]; rest; rest &= rest - 1)
        intervals[w * 64 + static_cast<std::size_t>(std::countr_zero(rest))].include(position);
  };
  for (const Liveness& block : blocks) {
    include_all(block.live_in, 2 * static_cast<std::int64_t>(block.begin));
    include_all(block.live_out, 2 * static_cast<std::int64_t>(block.end) - 1);
    for (std::size_t i = block.begin; i < block.end; ++i)
      for_each_register(draft.drafts[i], [&](Slot& slot, bool is_result) {
        intervals[static_cast<std::size_t>(slot - kVirtual)].include(
            2 * static_cast<std::int64_t>(i) + (is_result ? 1 : 0));
      });
  }
  std::erase_if(intervals, [](const Interval& interval) { return interval.begin < 0; });
  std::ranges::sort(intervals, {}, &Interval::begin);
  return intervals;
}

/// Bytes of all lanes of a register.
std::int64_t bytes_of(Width width) {
  if (width == Width::predicate) return 4;
  return width == Width::double_word ? kLanes * 8 : kLanes * 4;
}

/// Places of one width. Registers of different widths never share bytes: the lanes of a warp
/// diverge, and the same byte belongs to different lanes at different widths.
struct Pool {
  std::vector<Slot> free = {};
  std::multimap<std::int64_t, Slot> used = {};  ///< by the end of the interval

  Slot take(const Interval& interval, Width width, std::int64_t& bytes) {
    while (!used.empty() && used.begin()->first < interval.begin) {
      free.push_back(used.begin()->second);
      used.erase(used.begin());
    }
    if (free.empty()) {
      free.push_back(static_cast<Slot>(bytes));
      bytes += bytes_of(width);
    }
    const Slot slot = free.back();
    free.pop_back();
    used.emplace(interval.end, slot);
    return slot;
  }
};

/// The most registers of 32 bits that are live at one position.
int most_live(const std::vector<Interval>& intervals, const std::vector<Width>& widths) {
  std::map<std::int64_t, int> changes;
  for (const Interval& interval : intervals) {
    const Width width = widths[interval.id];
    const int registers = width == Width::predicate ? 0 : width == Width::double_word ? 2 : 1;
    changes[interval.begin] += registers;
    changes[interval.end + 1] -= registers;
  }
  int live = 0, most = 0;
  for (const auto& [position, change] : changes) most = std::max(most, live += change);
  return most;
}

}  // namespace

void allocate_registers(DraftKernel& draft) {
  std::vector<Slot> places(draft.widths.size(), kNoSlot);
  std::int64_t bytes = draft.kernel.register_bytes;  // behind the special registers
  const std::vector<Interval> intervals = find_intervals(draft);
  // Wide registers come first, so that all are aligned.
  for (const Width width : {Width::double_word, Width::word, Width::predicate}) {
    Pool pool;
    for (const Interval& interval : intervals)
      if (draft.widths[interval.id] == width)
        places[interval.id] = pool.take(interval, width, bytes);
  }
  for (Draft& one : draft.drafts)
    for_each_register(
        one, [&](Slot& slot, bool) { slot = places[static_cast<std::size_t>(slot - kVirtual)]; });
  draft.kernel.register_bytes = (bytes + 63) / 64 * 64;
  draft.kernel.live_registers = most_live(intervals, draft.widths);
}

}  // namespace sinter::virtual_gpu
