#include "compiler/simplify/bucket_collectives.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/simplify/graph_sweep.h"
#include "ir/collectives/collective_node.h"
#include "ir/shape/extent.h"
#include "ir/support/dense_map.h"
#include "ir/support/sort_unique.h"
#include "sinter/error.h"

namespace sinter {

namespace {

using Numbers = llvm::SmallVector<int, 4>;

/// Collectives that become one.
struct Bucket {
  std::vector<const Node*> members;  ///< by ascending id
  std::int64_t bytes = 0;
  Numbers needs;  ///< the buckets that its operands depend on, without those behind other buckets
};

bool are_alike(const Node& a, const Node& b) {
  return a.op == b.op && a.dtype == b.dtype && group_of(a) == group_of(b) &&
         std::ranges::equal(a.attributes, b.attributes, [](const Attribute& x, const Attribute& y) {
           return x.integer == y.integer && x.text == y.text &&
                  std::ranges::equal(x.integers, y.integers);
         });
}

std::optional<std::int64_t> bytes_of_operand(const Node& node) {
  const Extent elements = product(node.operand(0)->shape);
  if (!elements.is_number()) return std::nullopt;
  return elements.number() * size_of(node.dtype);
}

/// Decides which collectives share a bucket.
class BucketChoice {
 public:
  BucketChoice(const GraphData& graph, std::int64_t most_bytes)
      : most_bytes_(most_bytes), needs_(graph.nodes.size()), bucket_of_(graph.nodes.size(), -1) {
    for (const Node* node : reachable(graph)) {
      Numbers& needs = needs_[node->id];
      for (const Node* operand : node->operands) {
        const int bucket = bucket_of_[operand->id];
        if (bucket >= 0)
          needs.push_back(bucket);
        else
          needs.append(needs_[operand->id].begin(), needs_[operand->id].end());
      }
      sort_unique(needs);
      if (is_collective(node->op)) place(*node, needs);
    }
  }

  const std::vector<Bucket>& buckets() const { return buckets_; }
  int bucket_of(const Node* node) const {
    return node->id < bucket_of_.size() ? bucket_of_[node->id] : -1;
  }

 private:
  /// True if one of `from` is `bucket` or needs it.
  bool need(const Numbers& from, int bucket) const {
    std::vector<bool> is_seen(buckets_.size());
    Numbers pending = from;
    while (!pending.empty()) {
      const int at = pending.pop_back_val();
      if (at == bucket) return true;
      if (is_seen[static_cast<std::size_t>(at)]) continue;
      is_seen[static_cast<std::size_t>(at)] = true;
      const Numbers& next = buckets_[static_cast<std::size_t>(at)].needs;
      pending.append(next.begin(), next.end());
    }
    return false;
  }

  /// Puts the collective into the last bucket of its kind, or into a new one.
  void place(const Node& node, const Numbers& needs) {
    const std::optional<std::int64_t> bytes = bytes_of_operand(node);
    auto last = std::find_if(buckets_.rbegin(), buckets_.rend(), [&](const Bucket& bucket) {
      return are_alike(*bucket.members.front(), node);
    });
    if (bytes && last != buckets_.rend() && last->bytes + *bytes <= most_bytes_) {
      const auto number = static_cast<int>(buckets_.rend() - last) - 1;
      if (!need(needs, number)) {
        last->members.push_back(&node);
        last->bytes += *bytes;
        last->needs.append(needs.begin(), needs.end());
        sort_unique(last->needs);
        bucket_of_[node.id] = number;
        return;
      }
    }
    bucket_of_[node.id] = static_cast<int>(buckets_.size());
    // No other collective joins one of unknown size, or a large one.
    buckets_.push_back({.members = {&node}, .bytes = bytes.value_or(most_bytes_), .needs = needs});
  }

  const std::int64_t most_bytes_;
  std::vector<Bucket> buckets_;
  std::vector<Numbers> needs_;   ///< by node id: the buckets that a node depends on
  std::vector<int> bucket_of_;  ///< by node id; -1: no collective
};

/// Rebuilds the graph with one collective per bucket.
class BucketRewriter {
 public:
  BucketRewriter(GraphData& graph, const BucketChoice& choice)
      : graph_(graph), choice_(choice), replacements_(graph.nodes.size()) {}

  void run() {
    // In the order in which the buckets are complete, because collectives run in node order.
    for (const Node* node : reachable(graph_))
      if (const int bucket = choice_.bucket_of(node);
          bucket >= 0 &&
          choice_.buckets()[static_cast<std::size_t>(bucket)].members.back() == node)
        rebuilt(node);
    for (OutputInfo& output : graph_.outputs) output.node = rebuilt(output.node);
    for (UpdateInfo& update : graph_.updates) update.value = rebuilt(update.value);
    graph_.invalidate_liveness();
  }

 private:
  const Node*& replacement(const Node* node) { return replacements_[node->id]; }

  /// The nodes that must be rebuilt before `node`: its operands, or those of its whole bucket.
  llvm::SmallVector<const Node*, 8> needs_of(const Node* node) const {
    llvm::SmallVector<const Node*, 8> needs;
    const int bucket = choice_.bucket_of(node);
    if (bucket < 0) {
      needs.append(node->operands.begin(), node->operands.end());
      return needs;
    }
    for (const Node* member : choice_.buckets()[static_cast<std::size_t>(bucket)].members)
      needs.push_back(member->operand(0));
    return needs;
  }

  const Node* rebuilt(const Node* root) {
    std::vector<const Node*> pending = {root};
    while (!pending.empty()) {
      const Node* const node = pending.back();
      if (replacement(node)) {
        pending.pop_back();
        continue;
      }
      const std::size_t before = pending.size();
      for (const Node* need : needs_of(node))
        if (!replacement(need)) pending.push_back(need);
      if (pending.size() > before) continue;
      build(node);
      pending.pop_back();
    }
    return replacement(root);
  }

  void build(const Node* node) {
    const int number = choice_.bucket_of(node);
    if (number >= 0) {
      const Bucket& bucket = choice_.buckets()[static_cast<std::size_t>(number)];
      if (bucket.members.size() > 1) return build_bucket(bucket);
    }
    llvm::SmallVector<const Node*, 4> operands;
    for (const Node* operand : node->operands) operands.push_back(replacement(operand));
    set_replacement(node, with_operands(graph_, *node, operands));
  }

  void set_replacement(const Node* node, const Node* result) {
    replacement(node) = result;
    if (result != node && !graph_.label(node).empty() && graph_.label(result).empty())
      graph_.set_label(result, graph_.label(node));
  }

  /// One collective of all operands. They are rows of `rows` elements next to each other, so that
  /// each rank's part of the whole has the rank's parts of all members.
  void build_bucket(const Bucket& bucket) {
    const Node& first = *bucket.members.front();
    const bool cuts = first.op == Op::reduce_scatter || first.op == Op::all_to_all;
    const bool joins = first.op == Op::all_gather || first.op == Op::all_to_all;
    const std::int64_t ranks = ranks_of(first);
    std::vector<Operand> parts;
    for (const Node* member : bucket.members) {
      const Node* const operand = replacement(member->operand(0));
      const Extent elements = product(operand->shape);
      const Extent rows = cuts ? ranks : 1;
      parts.push_back({reshape(operand_at(graph_, operand, member),
                               {rows, floor_div(elements, rows)}),
                       graph_.location(member).file, graph_.location(member).line});
    }
    const Tensor packed = concat(parts, 1);
    const Node* const operands[] = {
        reshape(Operand(packed, graph_.location(&first).file, graph_.location(&first).line), {-1})
            .node()};
    const ShapeVector shape = collective_shape(first.op, *operands[0], ranks, {});
    const Tensor result = record_node(graph_, first.op, first.dtype, operands, shape,
                                      first.attributes, graph_.location(&first));
    const Extent result_rows = joins ? ranks : 1;
    const Operand rows = {reshape(result, {result_rows, floor_div(shape[0], result_rows)}),
                          graph_.location(&first).file, graph_.location(&first).line};
    Extent begin = 0;
    for (const Node* member : bucket.members) {
      const Extent length = floor_div(product(member->shape), result_rows);
      const Operand own = {slice(rows, 1, begin, begin + length), graph_.location(member).file,
                           graph_.location(member).line};
      set_replacement(member, reshape(own, member->shape).node());
      begin = begin + length;
    }
  }

  GraphData& graph_;
  const BucketChoice& choice_;
  std::vector<const Node*> replacements_;  ///< by id
};

}  // namespace

bool bucket_collectives(GraphData& graph, std::int64_t most_bytes) {
  if (std::ranges::none_of(graph.nodes, [](const Node* node) { return is_collective(node->op); }))
    return false;
  const BucketChoice choice(graph, most_bytes);
  const bool has_shared = std::ranges::any_of(
      choice.buckets(), [](const Bucket& bucket) { return bucket.members.size() > 1; });
  if (has_shared) BucketRewriter(graph, choice).run();
  return has_shared;
}

}  // namespace sinter
