// TfIdfVectorizer: counts the sequences of integers that a pool lists.
#include "sinter/views.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/axes.h"
#include "tools/onnx/ops/op_table.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// The sequences of one length, and the position of each in the result.
using Ngrams = std::map<std::vector<std::int64_t>, std::int64_t>;

/// The sequences of the pool by length. Of equal ones, the last counts.
std::map<std::int64_t, Ngrams> ngrams_of(const Call& call) {
  const Attributes& attributes = call.attributes();
  if (attributes.has("pool_strings")) refuse("it counts strings, which are not supported");
  const std::vector<std::int64_t> pool = attributes.integers("pool_int64s");
  const std::vector<std::int64_t> begins = attributes.integers("ngram_counts");
  const std::vector<std::int64_t> positions = attributes.integers("ngram_indexes");
  const auto size = static_cast<std::int64_t>(pool.size());
  std::map<std::int64_t, Ngrams> result;
  std::size_t number = 0;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const auto length = static_cast<std::int64_t>(i) + 1;
    const std::int64_t end = i + 1 < begins.size() ? begins[i + 1] : size;
    if (begins[i] < 0 || end < begins[i] || end > size || (end - begins[i]) % length != 0)
      refuse(fmt::format("its {}-grams are the elements {} to {} of a pool of {}", length,
                         begins[i], end, size));
    for (std::int64_t at = begins[i]; at < end; at += length, ++number) {
      if (number >= positions.size() || positions[number] < 0)
        refuse(fmt::format("ngram_indexes has no position for n-gram {}", number));
      result[length][{pool.begin() + at, pool.begin() + at + length}] = positions[number];
    }
  }
  return result;
}

/// The number of times that each n-gram occurs in x [batch, elements] with `stride` elements from
/// one item to the next: [batch, n-grams].
Tensor occurrences(const Call& call, const Tensor& x, std::int64_t length, const Ngrams& ngrams,
                   std::int64_t stride) {
  const std::int64_t windows = number_of(x.shape()[1]) - stride * (length - 1);
  Tensor matches;
  for (std::int64_t item = 0; item < length; ++item) {
    HostArray wanted(i64, {static_cast<std::int64_t>(ngrams.size())});
    std::int64_t i = 0;
    for (const auto& [ngram, position] : ngrams)
      wanted.set_integer_at(i++, ngram[static_cast<std::size_t>(item)]);
    const Tensor found = slice(x, 1, item * stride, item * stride + windows);
    const Tensor equal =
        eq(unsqueeze(found, 2), call.constant(call.table_name("item"), std::move(wanted)));
    matches = matches.node() ? logical_and(matches, equal) : equal;
  }
  return sum(cast(matches, i64), {1});
}

/// `counts` [batch, n-grams] at the positions of the n-grams: [batch, size].
Tensor at_positions(const Call& call, const Tensor& counts, const Ngrams& ngrams,
                    std::int64_t size) {
  HostArray positions(i64, {static_cast<std::int64_t>(ngrams.size())});
  std::int64_t i = 0;
  for (const auto& [ngram, position] : ngrams) positions.set_integer_at(i++, position);
  const Tensor table = call.constant(call.table_name("positions"), std::move(positions));
  const Tensor is_there = eq(reshape(iota(call.graph(), size), {size, 1}), table);
  return sum(where(is_there, unsqueeze(counts, 1), 0), {2});
}

/// The weights are those of positions in the result, as in other runtimes.
Tensor weighted(const Call& call, const Tensor& counts, std::int64_t size) {
  const std::string mode = call.attributes().text("mode", "TF");
  const std::vector<double> weights = call.attributes().reals("weights");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    refuse(fmt::format("mode is {}; it must be TF, IDF or TFIDF", shown_name(mode)));
  const Tensor numbers = cast(mode == "IDF" ? minimum(counts, 1) : counts, f32);
  if (mode == "TF" || weights.empty()) return numbers;
  if (static_cast<std::int64_t>(weights.size()) < size)
    refuse(fmt::format("it has {} weights for {} results", weights.size(), size));
  HostArray table(f32, {size});
  for (std::int64_t i = 0; i < size; ++i)
    table.set_real_at(i, weights[static_cast<std::size_t>(i)]);
  return numbers * call.constant(call.table_name("weights"), std::move(table));
}

Outputs record_tf_idf(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  if (!is_integer(x.dtype()) || x.rank() < 1 || x.rank() > 2)
    refuse(fmt::format("its input is {} of rank {}; it must be integers of rank 1 or 2",
                       name(x.dtype()), x.rank()));
  const std::int64_t shortest = call.attributes().integer("min_gram_length");
  const std::int64_t longest = call.attributes().integer("max_gram_length");
  const std::int64_t skips = call.attributes().integer("max_skip_count");
  const std::vector<std::int64_t> positions = call.attributes().integers("ngram_indexes");
  constexpr std::int64_t kMostResults = std::int64_t{1} << 24;
  constexpr std::int64_t kMostItems = 16;
  constexpr std::int64_t kMostSkips = 256;
  const std::int64_t size = positions.empty() ? 0 : *std::ranges::max_element(positions) + 1;
  if (size < 1 || size > kMostResults || shortest < 1 || longest > kMostItems || skips < 0 ||
      skips > kMostSkips)
    refuse(fmt::format(
        "it counts n-grams of {} to {} items with up to {} skips at {} positions; sinter "
        "counts those of 1 to {} items with up to {} skips at up to 2^24 positions",
        shortest, longest, skips, size, kMostItems, kMostSkips));
  const bool is_vector = x.rank() == 1;
  const Tensor rows = cast(is_vector ? unsqueeze(x, 0) : x, i64);
  const std::int64_t elements = number_of(rows.shape()[1]);
  Tensor counts;
  for (const auto& [length, ngrams] : ngrams_of(call)) {
    if (length < shortest || length > longest) continue;
    Tensor total;
    // Single items have no skips.
    for (std::int64_t stride = 1; stride <= (length == 1 ? 1 : skips + 1); ++stride) {
      if (stride * (length - 1) >= elements) break;
      const Tensor found = occurrences(call, rows, length, ngrams, stride);
      total = total.node() ? total + found : found;
    }
    if (!total.node()) continue;
    const Tensor placed = at_positions(call, total, ngrams, size);
    counts = counts.node() ? counts + placed : placed;
  }
  if (!counts.node()) counts = full(call.graph(), {rows.shape()[0], size}, 0, i64);
  const Tensor y = weighted(call, counts, size);
  return {is_vector ? squeeze(y, 0) : y};
}

constexpr OpRow kNgrams[] = {{"TfIdfVectorizer", record_tf_idf}};

}  // namespace

std::span<const OpRow> ngram_ops() { return kNgrams; }

}  // namespace sinter::onnx
