#include "compiler/tiling/scatter_residency.h"

#include <algorithm>

namespace sinter {

namespace {

/// Bytes of rows that one block keeps (at least one row). Fewer bytes allow more blocks per SM.
/// Larger values are used only if there would otherwise be too many blocks.
constexpr std::int64_t kKeptBytes[] = {32 * 1024, 96 * 1024, 208 * 1024};
constexpr int kBlocksPerSm = 4;
/// Further shared memory of a block.
constexpr std::int64_t kMarksBytes = 8 * 1024;

/// Warp instructions that a block of 256 threads runs per index, read from the machine code; and
/// warp instructions that an SM issues per second.
constexpr double kPerIndex = 1.4;
constexpr double kIssuedPerSm = 4 * 1.7e9;

}  // namespace

std::int64_t owned_rows_per_block(const Body& body, const Target& target, const Facts& facts,
                                  int per_sm) {
  const std::int64_t rows = evaluate(body.space.extent(0), facts.symbols);
  const std::int64_t blocks = std::int64_t{target.sm_count} * per_sm;
  return std::max<std::int64_t>((rows + blocks - 1) / blocks, 1);
}

bool sums_in_results(const Body& body, const Target& target, const Facts& facts) {
  return may_sum_in_results(body) &&
         owned_rows_per_block(body, target, facts, kBlocksPerSm) <= kMaxMarkedRows;
}

std::int64_t rows_kept(const Body& body, const Target& target, const Facts& facts) {
  const BodyScatter& scatter = *body.scatter;
  const Extent row_bytes = bytes_of_rows(body);
  const Value& base = body.values[static_cast<std::size_t>(scatter.base)];
  const bool may_be_there = base.kind == Value::Kind::load && base.at == body.stores[0].at;
  // A CPU works in its caches anyway.
  if (stores_only_scatter(body) && (may_be_there || target.is_cpu)) return 0;
  if (!row_bytes.is_number() || row_bytes.number() > kMaxScatteredBytes) return 0;
  const double rows = static_cast<double>(evaluate(body.space.extent(0), facts.symbols));
  const double indices = static_cast<double>(evaluate(body.space.extent(2), facts.symbols)) *
                         static_cast<double>(1 + body.more_scatters.size());
  const double moving = rows * static_cast<double>(row_bytes.number()) / target.bandwidth;
  for (const std::int64_t bytes : kKeptBytes) {
    if (bytes != kKeptBytes[0] && bytes + kMarksBytes > target.shared_per_block_opt_in) break;
    const std::int64_t kept =
        std::max<std::int64_t>(bytes / std::max<std::int64_t>(row_bytes.number(), 1), 1);
    if (owned_rows_per_block(body, target, facts, kBlocksPerSm) <= kept) return kept;
    const double searching =
        rows / static_cast<double>(kept) * indices * kPerIndex / (kIssuedPerSm * target.sm_count);
    if (searching <= moving / 2) return kept;
  }
  return 0;
}

std::int64_t most_rows_per_block(const Body& body, const Target& target, const Facts& facts) {
  const std::int64_t kept = rows_kept(body, target, facts);
  if (kept > 0) return kept;
  return stores_only_scatter(body) ? INT32_MAX : kMaxMarkedRows;
}

}  // namespace sinter
