#include "compiler/simplify/bucket_collectives.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/simplify/graph_sweep.h"
#include "ir/collectives/collective_node.h"
#include "ir/shape/extent.h"
#include "ir/support/dense_map.h"
#include "ir/support/sort_unique.h"
#include "sinter/error.h"

namespace sinter {

namespace {

using Collectives = llvm::SmallVector<const Node*, 4>;
using Numbers = llvm::SmallVector<int, 4>;

/// Collectives that become one.
struct Bucket {
  std::vector<const Node*> members;  ///< in their sequence
  std::int64_t bytes = 0;
  bool is_closed = false;     ///< of unknown size: no other collective joins it
  Numbers needs;              ///< the buckets that its operands depend on directly
  std::int64_t sequence = 0;  ///< of the merged collective
};

bool are_alike(const Node& a, const Node& b) {
  if (a.op != b.op || a.dtype != b.dtype) return false;
  // All attributes except the sequence, which is the last one.
  return std::ranges::equal(a.attributes.first(a.attributes.size() - 1),
                            b.attributes.first(b.attributes.size() - 1),
                            [](const Attribute& x, const Attribute& y) {
                              return x.integer == y.integer && x.text == y.text &&
                                     std::ranges::equal(x.integers, y.integers);
                            });
}

std::optional<std::int64_t> bytes_of_operand(const Node& node) {
  const Extent elements = product(node.operand(0)->shape);
  if (!elements.is_number()) return std::nullopt;
  return elements.number() * size_of(node.dtype);
}

/// For each collective, those that its operand depends on, without those behind others.
DenseMap<const Node*, Collectives> direct_needs(const GraphData& graph) {
  std::vector<Collectives> behind(graph.nodes.size());  // by node id, of the value of the node
  DenseMap<const Node*, Collectives> result;
  for (const Node* node : reachable(graph)) {
    Collectives& own = behind[node->id];
    for (const Node* operand : node->operands)
      own.append(behind[operand->id].begin(), behind[operand->id].end());
    std::ranges::sort(own, {}, &Node::id);
    own.erase(std::ranges::unique(own).begin(), own.end());
    if (is_collective(node->op)) result[node] = std::exchange(own, {node});
  }
  return result;
}

/// Decides which collectives share a bucket, and in which order the buckets run. The decision
/// depends on the collectives, their sequence and their dependencies, which all ranks have in common.
class BucketChoice {
 public:
  BucketChoice(const GraphData& graph, std::int64_t most_bytes)
      : most_bytes_(std::max<std::int64_t>(most_bytes, 0)), bucket_of_(graph.nodes.size(), -1) {
    const DenseMap<const Node*, Collectives> needs = direct_needs(graph);
    std::vector<const Node*> collectives;
    for (const auto& [node, unused] : needs) collectives.push_back(node);
    std::ranges::sort(collectives, {}, [](const Node* node) {
      return std::pair(sequence_of(*node), node->id);
    });
    for (const Node* node : collectives) {
      Numbers buckets;
      for (const Node* need : needs.find(node)->second) buckets.push_back(bucket_of(need));
      sort_unique(buckets);
      place(*node, buckets);
    }
    order();
  }

  const std::vector<Bucket>& buckets() const { return buckets_; }
  /// -1 for other nodes.
  int bucket_of(const Node* node) const {
    return node->id < bucket_of_.size() ? bucket_of_[node->id] : -1;
  }

 private:
  Bucket& at(int bucket) { return buckets_[static_cast<std::size_t>(bucket)]; }

  /// True if one of `from` is `bucket` or needs it.
  bool need(const Numbers& from, int bucket) {
    std::vector<bool> is_seen(buckets_.size());
    Numbers pending = from;
    while (!pending.empty()) {
      const int next = pending.pop_back_val();
      if (next == bucket) return true;
      if (is_seen[static_cast<std::size_t>(next)]) continue;
      is_seen[static_cast<std::size_t>(next)] = true;
      pending.append(at(next).needs.begin(), at(next).needs.end());
    }
    return false;
  }

  /// Puts the collective into the last bucket of its kind, or into a new one.
  void place(const Node& node, const Numbers& needs) {
    const std::optional<std::int64_t> bytes = bytes_of_operand(node);
    const auto last = std::find_if(buckets_.rbegin(), buckets_.rend(), [&](const Bucket& bucket) {
      return are_alike(*bucket.members.front(), node);
    });
    const auto number = static_cast<int>(buckets_.rend() - last) - 1;
    if (bytes && number >= 0 && !last->is_closed && *bytes <= most_bytes_ - last->bytes &&
        !need(needs, number)) {
      last->members.push_back(&node);
      last->bytes += *bytes;
      last->needs.append(needs.begin(), needs.end());
      sort_unique(last->needs);
      bucket_of_[node.id] = number;
      return;
    }
    bucket_of_[node.id] = static_cast<int>(buckets_.size());
    buckets_.push_back(
        {.members = {&node}, .bytes = bytes.value_or(0), .is_closed = !bytes, .needs = needs});
  }

  /// Numbers the buckets: of those whose needs have a number, first the one that is complete first.
  void order() {
    std::vector<int> left;
    for (int i = 0; i < static_cast<int>(buckets_.size()); ++i) left.push_back(i);
    std::ranges::sort(left, {}, [&](int i) { return sequence_of(*at(i).members.back()); });
    for (std::int64_t next = 1; !left.empty(); ++next) {
      const auto ready = std::ranges::find_if(left, [&](int i) {
        return std::ranges::all_of(at(i).needs, [&](int need) { return at(need).sequence > 0; });
      });
      ensure(ready != left.end(), "buckets of collectives wait for each other");
      at(*ready).sequence = next;
      left.erase(ready);
    }
  }

  const std::int64_t most_bytes_;
  std::vector<Bucket> buckets_;
  std::vector<int> bucket_of_;  ///< by node id
};

/// Rebuilds the graph with one collective per bucket.
class BucketRewriter {
 public:
  BucketRewriter(GraphData& graph, const BucketChoice& choice)
      : graph_(graph), choice_(choice), replacements_(graph.nodes.size()) {}

  void run() {
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
    const Node* own = with_operands(graph_, *node, operands);
    if (number >= 0)
      own = with_sequence(graph_, *own, choice_.buckets()[static_cast<std::size_t>(number)].sequence);
    set_replacement(node, own);
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
    llvm::SmallVector<Attribute, 4> attributes(first.attributes.begin(), first.attributes.end());
    attributes.back().integer = bucket.sequence;
    const Tensor result = record_node(graph_, first.op, first.dtype, operands, shape, attributes,
                                      graph_.location(&first));
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
