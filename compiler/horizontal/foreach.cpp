#include "compiler/horizontal/foreach.h"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>
#include <vector>

#include "compiler/body/body_request.h"
#include "compiler/body/kernel_key.h"
#include "compiler/body_building/build_body.h"
#include "ir/support/dense_map.h"

namespace sinter {

namespace {

/// Fewer kernels get their arrays as parameters, so that no block must search a table.
constexpr std::size_t kMinKernels = 8;
/// Minimum number of kernels per shape, if kMinKernels kernels have the same ops. It is small, so
/// that all shapes fit in one launch.
constexpr std::size_t kMinKernelsPerShape = 2;

using Key = std::vector<std::uint64_t>;

void append_literal(Key& key, const Literal& literal) {
  key.push_back(static_cast<std::uint64_t>(literal.kind));
  key.push_back(static_cast<std::uint64_t>(literal.integer));
  key.push_back(std::bit_cast<std::uint64_t>(literal.real));
}

/// Appends the op, dtype and scalar attributes of a node, but no shape.
void append_op(Key& key, const Node& node) {
  key.push_back(static_cast<std::uint64_t>(node.op));
  key.push_back(static_cast<std::uint64_t>(node.dtype));
  for (const Attribute& attribute : node.attributes) {
    key.push_back(static_cast<std::uint64_t>(attribute.integer));
    key.push_back(static_cast<std::uint64_t>(attribute.dtype));
    append_literal(key, attribute.literal);
    key.push_back(attribute.text.size());
    for (const char letter : attribute.text) key.push_back(static_cast<unsigned char>(letter));
  }
}

/// A key that is equal for kernels with the same ops on the same operands, regardless of shape.
/// Operands are numbered by first appearance.
Key key_of_ops(const Kernel& kernel) {
  Key key = {static_cast<std::uint64_t>(kernel.kind), kernel.nodes.size()};
  DenseMap<const Node*, std::size_t> numbers;
  const auto append_number = [&](const Node* node) {
    const auto [found, is_new] = numbers.try_emplace(node, numbers.size());
    key.push_back(found->second);
    if (!is_new) return;
    if (is_free(*node)) return append_op(key, *node);
    // A run-time scalar (1) or an array (0), regardless of which one.
    key.push_back(node->op == Op::scalar ? 1 : 0);
    key.push_back(static_cast<std::uint64_t>(node->dtype));
  };
  for (const Node* node : kernel.nodes) {
    for (const Node* operand : node->operands) append_number(operand);
    append_op(key, *node);
    numbers.try_emplace(node, numbers.size());
  }
  for (const Store& store : kernel.stores) append_number(store.node);
  return key;
}

/// A key of the shapes and layouts that the ops leave open. Empty for pointwise kernels whose axes
/// have all merged into one.
KernelKey key_of_shapes(const Program& program, const Kernel& kernel, KernelKeys& keys) {
  if (kernel.kind == KernelKind::pointwise && kernel.parallel.size() == 1) return {};
  const std::vector<StoreRequest> stores = stores_of(program, kernel);
  return keys.of(request_of(program, kernel, stores));
}

/// Kernels by a key of their computation. Kernels that share one list of schedules have equal keys,
/// so the key is computed once per list.
template <class Key>
class Lists {
 public:
  void add(const Kernel& kernel, auto key_of) {
    std::vector<const Kernel*>*& list = by_schedules_[&kernel.candidates.list()];
    if (!list || kernel.candidates.empty()) list = &by_key_[key_of()];
    list->push_back(&kernel);
  }
  const std::map<Key, std::vector<const Kernel*>>& by_key() const { return by_key_; }

 private:
  std::map<Key, std::vector<const Kernel*>> by_key_;
  DenseMap<const std::vector<Schedule>*, std::vector<const Kernel*>*> by_schedules_;
};

}  // namespace

int find_foreach_lists(Program& program) {
  if (program.kernels.size() < kMinKernels) return 0;
  std::unordered_map<std::uint64_t, std::size_t> count_by_hash;
  for (const Kernel& kernel : program.kernels) ++count_by_hash[kernel_hash(kernel)];
  Lists<Key> by_ops;
  for (const Kernel& kernel : program.kernels)
    if (kernel.kind != KernelKind::opaque && count_by_hash[kernel_hash(kernel)] >= kMinKernels)
      by_ops.add(kernel, [&] { return key_of_ops(kernel); });
  KernelKeys keys(program.graph->data());
  DenseMap<const Kernel*, const Kernel*> first_of;  // by kernel: the first one of its list
  for (const auto& [ops, alike] : by_ops.by_key()) {
    if (alike.size() < kMinKernels) continue;
    Lists<KernelKey> by_shapes;
    for (const Kernel* kernel : alike)
      by_shapes.add(*kernel, [&] { return key_of_shapes(program, *kernel, keys); });
    for (const auto& [shapes, equal] : by_shapes.by_key()) {
      if (equal.size() < kMinKernelsPerShape) continue;
      for (const Kernel* kernel : equal) first_of[kernel] = equal.front();
    }
  }
  // Lists are numbered in program order.
  int lists = 0;
  for (Kernel& kernel : program.kernels) {
    const Kernel* first = first_of.lookup(&kernel);
    if (!first) continue;
    kernel.foreach_list = first == &kernel ? lists++ : first->foreach_list;
  }
  return lists;
}

std::vector<int> order_by_lists(const Program& program, std::size_t max_distinct) {
  const std::size_t count = program.kernels.size();
  std::vector<std::vector<int>> lists;
  std::size_t distinct = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const int list = program.kernels[i].foreach_list;
    if (list < 0 || list == static_cast<int>(lists.size())) ++distinct;
    if (list < 0) continue;
    if (list == static_cast<int>(lists.size())) lists.emplace_back();
    lists[static_cast<std::size_t>(list)].push_back(static_cast<int>(i));
  }
  std::vector<int> order;
  order.reserve(count);
  std::vector<bool> is_placed(count, false);
  std::vector<std::size_t> done(lists.size(), 0);  // by list: kernels placed so far
  const auto take = [&](int number) {
    order.push_back(number);
    is_placed[static_cast<std::size_t>(number)] = true;
  };
  const auto is_ready = [&](int number) {
    const std::vector<int>& before = program.kernels[static_cast<std::size_t>(number)].depends_on;
    return std::ranges::all_of(before,
                               [&](int one) { return is_placed[static_cast<std::size_t>(one)]; });
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (is_placed[i]) continue;
    take(static_cast<int>(i));
    if (program.kernels[i].foreach_list < 0) continue;
    const auto number = static_cast<std::size_t>(program.kernels[i].foreach_list);
    const std::vector<int>& list = lists[number];
    ++done[number];
    if (distinct <= max_distinct) continue;
    for (; done[number] < list.size() && is_ready(list[done[number]]); ++done[number])
      take(list[done[number]]);
  }
  return order;
}

}  // namespace sinter
