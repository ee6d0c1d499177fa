#include "compiler/fuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>

#include "compiler/assemble.h"
#include "compiler/cost.h"
#include "compiler/group.h"
#include "compiler/schedule_kernel.h"
#include "sinter/error.h"

namespace sinter {

namespace {

// Beyond these a kernel would spill or its argument list would not fit the launch.
constexpr std::size_t kMaxNodes = 200;
constexpr std::size_t kMaxArguments = 24;

std::string bytes_text(double bytes) {
  if (bytes >= 1 << 20) return fmt::format("{:.1f} MiB", bytes / (1 << 20));
  if (bytes >= 1 << 10) return fmt::format("{:.1f} KiB", bytes / (1 << 10));
  return fmt::format("{:.0f} bytes", bytes);
}

/// Two groups that might become one.
struct Candidate {
  double saved = 0;  ///< bytes
  int a = 0;
  int b = 0;
  int version_a = 0;
  int version_b = 0;
  friend bool operator<(const Candidate& x, const Candidate& y) {
    // The queue gives the largest first; ties go to what was recorded first.
    if (x.saved != y.saved) return x.saved < y.saved;
    return std::pair(x.a, x.b) > std::pair(y.a, y.b);
  }
};

class Fuser {
 public:
  Fuser(const GraphData& graph, const Target& target, const Facts& facts)
      : groups(graph), graph_(graph), target_(target), facts_(facts) {}

  void run() {
    merge_neighbours();
    recompute_cheap_values();
    merge_siblings();
  }

  /// Why `producer` and `consumer` are two kernels.
  std::string reason(int producer, int consumer) {
    const Verdict verdict = judge(producer, consumer);
    return verdict.why_not.empty() ? "merging them later became possible only in another order"
                                   : verdict.why_not;
  }

  Groups groups;

 private:
  struct Verdict {
    std::string why_not;
  };

  double bytes(const Node* node) const {
    return static_cast<double>(evaluate(product(node->shape), facts_.symbols)) *
           size_of(node->dtype);
  }

  /// Bytes that do not cross memory any more if `a` and `b` are one kernel.
  double saved_bytes(int a, int b) const {
    double saved = 0;
    const std::vector<const Node*> loads_a = groups.loads(a);
    const std::vector<const Node*> loads_b = groups.loads(b);
    for (const Node* node : loads_b) {
      if (groups.home(node) == a)
        saved += bytes(node) * (groups.is_wanted_outside(node, a, b) ? 1 : 2);
      else if (std::ranges::binary_search(loads_a, node->id, {},
                                          [](const Node* n) { return n->id; }))
        saved += bytes(node);
    }
    return saved;
  }

  /// Cost of a group as it stands.
  double seconds(int group) {
    const std::pair key(group, groups[group].version);
    if (const auto found = seconds_.find(key); found != seconds_.end()) return found->second;
    const BodyAnswer answer = groups.body(group, -1);
    ensure(static_cast<bool>(answer), "a group has no body: " + answer.why_not);
    return seconds_[key] = cost_of(answer.body, target_, facts_).seconds;
  }

  std::string split_refusal(const Body& body) const {
    if (!wants_split(body, target_, facts_) || body.passes() == 1) return {};
    const std::int64_t rows = evaluate(body.parallel_size(), facts_.symbols);
    const std::int64_t extent = evaluate(body.reduced_size(), facts_.symbols);
    return fmt::format(
        "{} row{} of {} elements must be spread over all {} SMs, so its result is known only when "
        "the kernel ends",
        rows, rows == 1 ? "" : "s", extent, target_.sm_count);
  }

  /// The last block alone reduces the rows' values: not too many of them, and in row kernels only.
  std::string final_refusal(const Body& body) const {
    constexpr std::int64_t kMostRows = 32768;
    if (body.finals.empty()) return {};
    const std::int64_t rows = evaluate(body.parallel_size(), facts_.symbols);
    if (rows == 0) return "there is no row, and so no last block";
    if (rows > kMostRows)
      return fmt::format("one block would reduce the values of {} rows, more than {}", rows,
                         kMostRows);
    if (kind_of(body, target_, facts_) != KernelKind::row_reduce)
      return "the rows' values are spread over the threads of many blocks";
    return {};
  }

  /// Arrays that a kernel of `body` takes.
  static std::size_t arguments_of(const Body& body) {
    llvm::DenseSet<const Node*> loaded;
    for (const Value& value : body.values)
      if (value.kind == Value::Kind::load) loaded.insert(value.node);
    return body.stores.size() + loaded.size();
  }

  Verdict judge(int a, int b) {
    if (groups.has_detour(a, b) || groups.has_detour(b, a))
      return {"a third kernel needs the result of one and feeds the other"};
    const std::size_t nodes = groups[a].nodes.size() + groups[b].nodes.size();
    if (nodes > kMaxNodes)
      return {fmt::format("together they are {} ops, more than {}", nodes, kMaxNodes)};
    const BodyAnswer answer = groups.body(a, b);
    if (!answer) return {answer.why_not};
    if (const std::size_t arguments = arguments_of(answer.body); arguments > kMaxArguments)
      return {fmt::format("together they touch {} arrays, more than {}", arguments, kMaxArguments)};
    if (std::string refusal = split_refusal(answer.body); !refusal.empty()) return {refusal};
    if (std::string refusal = final_refusal(answer.body); !refusal.empty()) return {refusal};
    const Cost cost = cost_of(answer.body, target_, facts_);
    const double apart = seconds(a) + seconds(b);
    if (cost.seconds > apart)
      return {
          fmt::format("one kernel would take {:.2f} us ({} and {:.1f} M instructions), two take "
                      "{:.2f} us",
                      cost.seconds * 1e6, bytes_text(cost.bytes_read + cost.bytes_written),
                      cost.instructions * 1e-6, apart * 1e6)};
    return {};
  }

  void push(int a, int b) {
    if (a == b || !groups[a].alive || !groups[b].alive) return;
    queue_.push({.saved = saved_bytes(a, b),
                 .a = a,
                 .b = b,
                 .version_a = groups[a].version,
                 .version_b = groups[b].version});
  }

  void push_neighbours(int group) {
    for (const int consumer : groups.consumers(group)) push(group, consumer);
    for (const int producer : groups.producers(group)) push(producer, group);
  }

  /// Merges the best candidates until none is left; a merged group's neighbours are scored again.
  void drain() {
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      const bool stale = !groups[best.a].alive || !groups[best.b].alive ||
                         groups[best.a].version != best.version_a ||
                         groups[best.b].version != best.version_b;
      if (stale || !judge(best.a, best.b).why_not.empty()) continue;
      groups.merge(best.a, best.b);
      push_neighbours(best.a);
    }
  }

  void merge_neighbours() {
    for (int group = 0; group < groups.size(); ++group)
      for (const int consumer : groups.consumers(group)) push(group, consumer);
    drain();
  }

  /// Groups that read the same array without needing one another's results.
  void merge_siblings() {
    llvm::DenseMap<const Node*, llvm::SmallVector<int, 4>> readers;
    std::vector<const Node*> read;
    for (int group = 0; group < groups.size(); ++group) {
      if (!groups[group].alive) continue;
      for (const Node* node : groups.loads(group)) {
        if (readers[node].empty()) read.push_back(node);
        readers[node].push_back(group);
      }
    }
    for (const Node* node : read)
      for (std::size_t i = 1; i < readers[node].size(); ++i)
        push(readers[node][i - 1], readers[node][i]);
    drain();
  }

  /// The part of `node`'s group that computes it from what it loads; empty if a reduction is in it.
  std::vector<const Node*> cone(int group, const Node* node) const {
    std::vector<const Node*> result;
    std::vector<const Node*> pending = {node};
    llvm::DenseSet<const Node*> seen;
    while (!pending.empty()) {
      const Node* at = pending.back();
      pending.pop_back();
      if (at->op == Op::input || !groups.contains(group, at) || !seen.insert(at).second) continue;
      if (is_reduction(at->op) || is_scan(at->op) || at->op == Op::scatter) return {};
      result.push_back(at);
      for (const Node* read : groups.reads(at)) pending.push_back(read);
    }
    return result;
  }

  /// Where loading what a value is made of moves no more bytes than storing and loading the value,
  /// its readers compute it themselves.
  void recompute_cheap_values() {
    for (int group = 0; group < groups.size(); ++group) {
      if (!groups[group].alive) continue;
      for (const Node* node : groups.stores(group)) try_recompute(group, node);
    }
  }

  void try_recompute(int group, const Node* node) {
    const bool is_result =
        std::ranges::any_of(graph_.outputs,
                            [&](const OutputInfo& output) { return output.node == node; }) ||
        std::ranges::any_of(graph_.updates,
                            [&](const UpdateInfo& update) { return update.value == node; });
    const std::vector<const Node*> nodes = cone(group, node);
    if (is_result || nodes.empty()) return;
    std::vector<int> readers;
    for (const int consumer : groups.consumers(group)) {
      const std::vector<const Node*> loads = groups.loads(consumer);
      if (std::ranges::find(loads, node) != loads.end()) readers.push_back(consumer);
    }
    double before = seconds(group);
    for (const int reader : readers) before += seconds(reader);
    // Try it on a copy: whether it pays shows only in the bodies.
    const Groups saved = groups;
    for (const int reader : readers) groups.recompute(reader, nodes);
    groups.drop_unused(group);
    double after = groups[group].alive ? cost_or_infinite(group) : 0;
    for (const int reader : readers) after += cost_or_infinite(reader);
    if (after > before) groups = saved;
  }

  double cost_or_infinite(int group) {
    constexpr double kImpossible = 1e30;
    if (groups[group].nodes.size() > kMaxNodes) return kImpossible;
    const BodyAnswer answer = groups.body(group, -1);
    if (!answer || !split_refusal(answer.body).empty() || !final_refusal(answer.body).empty() ||
        arguments_of(answer.body) > kMaxArguments)
      return kImpossible;
    return cost_of(answer.body, target_, facts_).seconds;
  }

  const GraphData& graph_;
  const Target& target_;
  const Facts& facts_;
  std::priority_queue<Candidate> queue_;
  std::map<std::pair<int, int>, double> seconds_;
};

}  // namespace

namespace {

/// An input that is itself an output, or is written into another input, is read by a kernel of its
/// own like any value: through a view of itself.
const Node* as_value(GraphData& data, const Node* node) {
  if (node->op != Op::input) return node;
  const Attribute shape = {.extents = node->shape};
  return data.make({.op = Op::reshape,
                    .dtype = node->dtype,
                    .operands = {&node, 1},
                    .shape = node->shape,
                    .attributes = {&shape, 1}},
                   data.location(node));
}

}  // namespace

Program fuse(Graph graph, const Target& target, const Facts& facts, const PlanOptions& options) {
  Program program;
  program.facts = facts;
  program.graph = std::make_shared<Graph>(std::move(graph));
  GraphData& data = program.graph->data();
  for (OutputInfo& output : data.outputs)
    if (!output.is_left_out) output.node = as_value(data, output.node);
  for (UpdateInfo& update : data.updates) update.value = as_value(data, update.value);
  Fuser fuser(data, target, facts);
  if (options.fuse) fuser.run();
  assemble(program, fuser.groups, [&](int producer, int consumer) -> std::string {
    return options.fuse ? fuser.reason(producer, consumer) : "fusion is off";
  });
  return program;
}

}  // namespace sinter
