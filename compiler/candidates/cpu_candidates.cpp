#include "compiler/candidates/cpu_candidates.h"

#include <algorithm>

#include "compiler/body/access.h"
#include "compiler/candidates/candidate_list.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/reduction_tree.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

/// Elements of a vector. Short enough that all vectors of a body stay in the first-level cache, and
/// long enough that the loops over them cost little.
constexpr std::int64_t kVector = 64;
/// The same along rows, whose accumulators share the vector's chunks.
constexpr std::int64_t kRowVector = 128;
/// The most columns of a block. Each one has a state per level of its tree.
constexpr std::int64_t kMostColumns = 256;
constexpr std::int64_t kFewestColumns = 16;  // at least 16 bytes of any dtype
/// Elements per block: the start of a block then costs little.
constexpr std::int64_t kElementsPerBlock = 4096;
/// Large tensors have at least so many blocks, for the threads of the CPU.
constexpr std::int64_t kBlocks = 64;
/// The most bytes of a row that stays on the stack between passes: half of a second-level cache.
constexpr std::int64_t kMostResidentBytes = 512 << 10;

/// The tiles of `target` in blocks of one thread, if they are the heuristic's choice there. A block
/// transposes its tile in the first-level cache, where strided accesses cost little.
std::vector<Schedule> tiled(const Body& body, const Target& target, const Facts& facts) {
  std::vector<Schedule> list =
      with_tiles(pointwise_candidates(body, target, facts), body, target, facts);
  list.resize(1);
  if (list.front().tile == 0) return {};
  list.front().threads = 1;
  return list;
}

std::vector<Schedule> pointwise(const Body& body, const Target& target, const Facts& facts) {
  if (std::vector<Schedule> tiles = tiled(body, target, facts); !tiles.empty()) return tiles;
  const int axis = body.parallel_axes - 1;
  const std::int64_t row = axis < 0 ? 1 : evaluate(body.space.extent(axis), facts.symbols);
  const std::int64_t size = evaluate(body.parallel_size(), facts.symbols);
  const std::int64_t vector = std::clamp<std::int64_t>(bit_ceil(row), 1, kVector);
  const std::int64_t vectors =
      std::max<std::int64_t>(size / std::max<std::int64_t>(row, 1), 1) * divide_up(row, vector);
  const std::int64_t unroll = std::clamp<std::int64_t>(
      bit_floor(std::max<std::int64_t>(vectors / kBlocks, 1)), 1, kElementsPerBlock / vector);
  CandidateList list;
  list.add({.threads = 1, .vector = static_cast<int>(vector), .unroll = static_cast<int>(unroll)});
  return list.take();
}

/// Bytes of the values of one row that passes keep for later ones.
std::int64_t kept_bytes_of_row(const Body& body, const Tree& tree) {
  std::int64_t bytes = 0;
  for (const int kept : plan_resident_passes(body).kept)
    bytes += size_of(info(body.values[static_cast<std::size_t>(kept)].dtype).compute);
  return bytes * tree.parts * tree.chunks_per_part * kChunk;
}

std::vector<Schedule> rows(const Body& body, const Facts& facts, bool split) {
  const Tree tree = tree_of(evaluate(body.reduced_size(), facts.symbols));
  for (std::int64_t vector = kRowVector; vector >= kChunk; vector /= 2) {
    if (tree.accumulators * kChunk < vector && vector > kChunk) continue;
    Schedule schedule{.threads = 1, .vector = static_cast<int>(vector), .splits_rows = split};
    schedule.resident = !split && body.passes() > 1 && body.reduced_size().is_number() &&
                        kept_bytes_of_row(body, tree) <= kMostResidentBytes;
    return {schedule};
  }
  return {};
}

std::vector<Schedule> columns(const Body& body, const Facts& facts) {
  const Extent inner = body.space.extent(body.parallel_axes - 1);
  std::int64_t vector = divisor_of(inner, facts);
  if (inner.is_number())
    for (vector = std::clamp<std::int64_t>(inner.number(), 1, kMostColumns);
         inner.number() % vector != 0;)
      --vector;
  if (vector < kFewestColumns) return {};
  return {{.threads = 1, .vector = static_cast<int>(vector)}};
}

}  // namespace

std::vector<Schedule> cpu_candidates(KernelKind kind, const Body& body, const Target& target,
                                     const Facts& facts) {
  switch (kind) {
    case KernelKind::pointwise: return pointwise(body, target, facts);
    case KernelKind::row_reduce: return rows(body, facts, false);
    case KernelKind::full_reduce: return rows(body, facts, true);
    case KernelKind::column_reduce: return columns(body, facts);
    case KernelKind::row_column_reduce:
    case KernelKind::scan:
    case KernelKind::scatter:
    case KernelKind::horizontal:
    case KernelKind::opaque: break;
  }
  return {};
}

}  // namespace sinter
