// Chains are found by a link of the older set, or in a table by a hash of the newest access and the
// older set.
#include "tests/virtual_gpu/checks/access_history.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "tests/virtual_gpu/checks/happens_before.h"

namespace sinter::virtual_gpu {
namespace {

std::uint64_t history_hash(std::uint32_t older, const PastAccess& access) {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15u;
  const auto mix = [](std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * kFactor;
    return hash ^ (hash >> 29);
  };
  std::uint64_t hash = mix(kFactor, (std::uint64_t{older} << 32) | access.segment);
  hash = mix(hash, (std::uint64_t{access.lanes} << 32) | access.time);
  hash = mix(hash, (std::uint64_t{static_cast<std::uint32_t>(access.line)} << 32) |
                       (std::uint64_t{access.version} << 16) | (access.warp << 8) | access.flags);
  return mix(hash,
             (std::uint64_t{static_cast<std::uint16_t>(access.origin)} << 8) | access.step_shift);
}

}  // namespace

void AccessHistories::clear() {
  first_ += static_cast<std::uint32_t>(nodes_.size());
  nodes_.clear();
  last_ = {};
  std::fill(table_.begin(), table_.end(), 0);
  in_table_ = 0;
}

bool AccessHistories::is_in_table(const Node& node, std::uint32_t number) const {
  return !node.older || (*this)[node.older].first_newer != number;
}

void AccessHistories::grow() {
  table_.assign(std::max<std::size_t>(1024, table_.size() * 2), 0);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!is_in_table(nodes_[i], first_ + i)) continue;
    std::size_t place = history_hash(nodes_[i].older, nodes_[i].access) & (table_.size() - 1);
    while (table_[place]) place = (place + 1) & (table_.size() - 1);
    table_[place] = first_ + i;
  }
}

std::uint32_t AccessHistories::add(std::uint32_t older, const PastAccess& access,
                                   std::uint32_t compact_at) {
  if (older) {
    const std::uint32_t newer = (*this)[older].first_newer;
    if (!newer) {
      const std::uint32_t number = append(older, access, compact_at);
      nodes_[older - first_].first_newer = number;
      return number;
    }
    if ((*this)[newer].access == access) return newer;
  }
  if (in_table_ * 2 >= table_.size()) grow();
  std::size_t place = history_hash(older, access) & (table_.size() - 1);
  for (; table_[place]; place = (place + 1) & (table_.size() - 1)) {
    const Node& node = (*this)[table_[place]];
    if (node.older == older && node.access == access) return table_[place];
  }
  const std::uint32_t number = append(older, access, compact_at);
  table_[place] = number;
  ++in_table_;
  return number;
}

std::uint32_t AccessHistories::append(std::uint32_t older, const PastAccess& access,
                                      std::uint32_t compact_at) {
  Node node = {.access = access,
               .older = older,
               .length = 1,
               .newest_segment = access.segment,
               .compact_at = compact_at,
               .flags = access.flags,
               .finest_shift = access.step_shift};
  if (older) {
    const Node& rest = (*this)[older];
    node.length += rest.length;
    node.newest_segment = std::max(node.newest_segment, rest.newest_segment);
    node.flags |= rest.flags;
    node.finest_shift = std::min(node.finest_shift, rest.finest_shift);
  }
  const std::uint32_t number = first_ + static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back(node);
  return number;
}

std::uint32_t AccessHistories::push(std::uint32_t set, const PastAccess& access,
                                    const HappensBefore& order) {
  if (!last_.result || last_.set != set || last_.access != access)
    last_ = {.set = set, .access = access, .result = push_uncached(set, access, order)};
  return last_.result;
}

std::uint32_t AccessHistories::push_uncached(std::uint32_t set, const PastAccess& access,
                                             const HappensBefore& order) {
  if (!set) return add(0, access, kFirstCompaction);
  const Node newest = (*this)[set];
  if (newest.access.is_like(access)) {
    PastAccess both = access;
    both.lanes |= newest.access.lanes;
    return add(newest.older, both, newest.compact_at);
  }
  const std::uint32_t result = add(set, access, newest.compact_at);
  if ((*this)[result].length < newest.compact_at) return result;
  if (!(*this)[result].compacted) {
    const std::uint32_t compacted = compact(result, order);
    nodes_[result - first_].compacted = compacted;
  }
  return (*this)[result].compacted;
}

/// Keeps the newest access of each thread among those with equal properties. Of strong reads it
/// keeps also the oldest, which proves the earliest observation of a write.
std::uint32_t AccessHistories::compact(std::uint32_t set, const HappensBefore& order) {
  std::vector<PastAccess> accesses;  // newest first
  for (std::uint32_t i = set; i; i = (*this)[i].older) accesses.push_back((*this)[i].access);
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint8_t, std::uint8_t, std::uint16_t,
                         std::int16_t, std::uint8_t>;
  const auto key_of = [&](const PastAccess& access) {
    const BlockId block = order.segment_of(access.segment).block;
    return Key(block.launch, block.block, access.warp, access.flags, access.version, access.origin,
               access.step_shift);
  };
  std::vector<Mask> kept(accesses.size());
  const auto keep_first = [&](std::size_t i, std::map<Key, Mask>& seen) {
    Mask& lanes = seen[key_of(accesses[i])];
    kept[i] |= accesses[i].lanes & ~lanes;
    lanes |= accesses[i].lanes;
  };
  std::map<Key, Mask> newer, older;
  for (std::size_t i = 0; i < accesses.size(); ++i) keep_first(i, newer);
  for (std::size_t i = accesses.size(); i-- > 0;)
    if (accesses[i].has(AccessFlags::kStrong)) keep_first(i, older);
  std::uint32_t result = 0;
  for (std::size_t i = accesses.size(); i-- > 0;) {
    if (!kept[i]) continue;
    accesses[i].lanes = kept[i];
    result = add(result, accesses[i], kFirstCompaction);
  }
  // The next compaction is far enough that its cost per access stays constant.
  Node& node = nodes_[result - first_];
  node.compact_at = 2 * node.length + kFirstCompaction;
  return result;
}

}  // namespace sinter::virtual_gpu
