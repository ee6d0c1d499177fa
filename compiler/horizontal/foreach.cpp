#include "compiler/horizontal/foreach.h"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>
#include <vector>

#include "compiler/body/body_request.h"
#include "compiler/body/kernel_key.h"
#include "compiler/body_building/kernel_body.h"
#include "ir/support/dense_map.h"

namespace sinter {

namespace {

/// With fewer kernels, parameters do as well, and no block has to search a table.
constexpr std::size_t kFewest = 8;
/// Where as many compute the same on arrays of different shapes, each shape's share of them, so
/// that a launch has room for all shapes.
constexpr std::size_t kFewestOfAShape = 2;

using Key = std::vector<std::uint64_t>;

void append_literal(Key& key, const Literal& literal) {
  key.push_back(static_cast<std::uint64_t>(literal.kind));
  key.push_back(static_cast<std::uint64_t>(literal.integer));
  key.push_back(std::bit_cast<std::uint64_t>(literal.real));
}

/// What a node computes, whatever the shapes.
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

/// Equal for kernels that compute the same, whatever their shapes: nodes and what they are made of,
/// by order of appearance.
Key key_of_ops(const Kernel& kernel) {
  Key key = {static_cast<std::uint64_t>(kernel.kind), kernel.nodes.size()};
  DenseMap<const Node*, std::size_t> numbers;
  const auto append_number = [&](const Node* node) {
    const auto [found, is_new] = numbers.try_emplace(node, numbers.size());
    key.push_back(found->second);
    if (!is_new) return;
    if (is_free(*node)) return append_op(key, *node);
    // An array or a run-time scalar, whichever it is.
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

/// What the ops leave open: nothing where all axes have merged into one.
KernelKey key_of_shapes(const Program& program, const Kernel& kernel, KernelKeys& keys) {
  if (kernel.kind == KernelKind::pointwise && kernel.parallel.size() == 1) return {};
  const std::vector<StoreRequest> stores = stores_of(program, kernel);
  return keys.of(request_of(program, kernel, stores));
}

/// Kernels by a key of what they compute. Those that follow another one's schedules are its like in
/// all that keys say, so theirs is worked out once.
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

int find_lists(Program& program) {
  if (program.kernels.size() < kFewest) return 0;
  std::unordered_map<std::uint64_t, std::size_t> roughly_alike;
  for (const Kernel& kernel : program.kernels) ++roughly_alike[kernel_hash(kernel)];
  Lists<Key> by_ops;
  for (const Kernel& kernel : program.kernels)
    if (kernel.kind != KernelKind::opaque && roughly_alike[kernel_hash(kernel)] >= kFewest)
      by_ops.add(kernel, [&] { return key_of_ops(kernel); });
  KernelKeys keys(program.graph->data());
  DenseMap<const Kernel*, const Kernel*> first_of;  // of its list
  for (const auto& [ops, alike] : by_ops.by_key()) {
    if (alike.size() < kFewest) continue;
    Lists<KernelKey> by_shapes;
    for (const Kernel* kernel : alike)
      by_shapes.add(*kernel, [&] { return key_of_shapes(program, *kernel, keys); });
    for (const auto& [shapes, equal] : by_shapes.by_key()) {
      if (equal.size() < kFewestOfAShape) continue;
      for (const Kernel* kernel : equal) first_of[kernel] = equal.front();
    }
  }
  // Numbered in the order of the program.
  int lists = 0;
  for (Kernel& kernel : program.kernels) {
    const Kernel* first = first_of.lookup(&kernel);
    if (!first) continue;
    kernel.foreach_list = first == &kernel ? lists++ : first->foreach_list;
  }
  return lists;
}

std::vector<int> order_by_lists(const Program& program, std::size_t most_codes) {
  const std::size_t count = program.kernels.size();
  std::vector<std::vector<int>> lists;
  std::size_t codes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const int list = program.kernels[i].foreach_list;
    if (list < 0 || list == static_cast<int>(lists.size())) ++codes;
    if (list < 0) continue;
    if (list == static_cast<int>(lists.size())) lists.emplace_back();
    lists[static_cast<std::size_t>(list)].push_back(static_cast<int>(i));
  }
  std::vector<int> order;
  order.reserve(count);
  std::vector<bool> is_placed(count, false);
  std::vector<std::size_t> done(lists.size(), 0);  // of a list, how many are placed
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
    if (codes <= most_codes) continue;
    for (; done[number] < list.size() && is_ready(list[done[number]]); ++done[number])
      take(list[done[number]]);
  }
  return order;
}

}  // namespace sinter
