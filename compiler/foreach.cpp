#include "compiler/foreach.h"

#include <bit>
#include <map>
#include <utility>

#include "compiler/kernel_body.h"
#include "ir/adt.h"

namespace sinter {

namespace {

/// With fewer kernels, parameters do as well, and no block has to search a table.
constexpr std::size_t kFewest = 8;

using Key = std::vector<std::uint64_t>;

void append(Key& key, Extent extent) {
  key.push_back(static_cast<std::uint64_t>(extent.number()));
  key.push_back(reinterpret_cast<std::uintptr_t>(extent.expression()));
}
void append(Key& key, std::span<const Extent> extents) {
  key.push_back(extents.size());
  for (const Extent& extent : extents) append(key, extent);
}
void append(Key& key, const Literal& literal) {
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
    append(key, attribute.literal);
    key.push_back(attribute.text.size());
    for (const char letter : attribute.text) key.push_back(static_cast<unsigned char>(letter));
  }
}

void append_shape(Key& key, const Node& node) {
  append(key, node.shape);
  for (const Attribute& attribute : node.attributes) {
    append(key, attribute.extent);
    append(key, attribute.extents);
    key.push_back(attribute.integers.size());
    for (const std::int64_t integer : attribute.integers)
      key.push_back(static_cast<std::uint64_t>(integer));
  }
}

/// The nodes of a kernel and what they are made of, by order of appearance.
class CodeKey {
 public:
  CodeKey(const Program& program, const Kernel& kernel) : program_(program), kernel_(kernel) {}

  /// Equal for kernels that compute the same, whatever their shapes.
  Key of_ops() {
    Key key = {static_cast<std::uint64_t>(kernel_.kind), kernel_.nodes.size()};
    for (const Node* node : kernel_.nodes) {
      for (const Node* operand : node->operands) number(key, operand);
      append_op(key, *node);
      numbers_.try_emplace(node, numbers_.size());
    }
    for (const Store& store : kernel_.stores) number(key, store.node);
    return key;
  }

  /// What `of_ops` leaves open.
  Key of_shapes() const {
    Key key;
    if (kernel_.kind == KernelKind::pointwise) {
      key.push_back(static_cast<std::uint64_t>(body_of(program_, kernel_).parallel_axes));
      if (key[0] == 1) return key;
    }
    for (const Node* node : kernel_.nodes) {
      append_shape(key, *node);
      for (const Node* operand : node->operands) append_memory(key, operand);
    }
    for (const Store& store : kernel_.stores)
      append(key, program_.buffers[static_cast<std::size_t>(store.buffer)].strides);
    return key;
  }

 private:
  void number(Key& key, const Node* node) {
    const auto [found, is_new] = numbers_.try_emplace(node, numbers_.size());
    key.push_back(found->second);
    if (!is_new) return;
    if (is_free(*node)) return append_op(key, *node);
    // An array or a run-time scalar, whichever it is.
    key.push_back(node->op == Op::scalar ? 1 : 0);
    key.push_back(static_cast<std::uint64_t>(node->dtype));
  }

  void append_memory(Key& key, const Node* node) const {
    append(key, node->shape);
    const auto buffer = program_.buffer_of.find(node);
    if (buffer != program_.buffer_of.end())
      append(key, program_.buffers[static_cast<std::size_t>(buffer->second)].strides);
  }

  const Program& program_;
  const Kernel& kernel_;
  llvm::DenseMap<const Node*, std::size_t> numbers_;
};

using Groups = std::map<Key, std::vector<Kernel*>>;

}  // namespace

int find_lists(Program& program) {
  if (program.kernels.size() < kFewest) return 0;
  Groups by_ops;
  for (Kernel& kernel : program.kernels)
    by_ops[CodeKey(program, kernel).of_ops()].push_back(&kernel);
  llvm::DenseMap<const Kernel*, const Kernel*> first_of;  // of its list
  for (const auto& [ops, alike] : by_ops) {
    if (alike.size() < kFewest) continue;
    Groups by_shapes;
    for (Kernel* kernel : alike) by_shapes[CodeKey(program, *kernel).of_shapes()].push_back(kernel);
    for (const auto& [shapes, equal] : by_shapes) {
      if (equal.size() < kFewest) continue;
      for (const Kernel* kernel : equal) first_of[kernel] = equal.front();
    }
  }
  // In the order of the program: reports must not depend on where keys lie in memory.
  int lists = 0;
  for (Kernel& kernel : program.kernels) {
    const Kernel* first = first_of.lookup(&kernel);
    if (!first) continue;
    kernel.list = first == &kernel ? lists++ : first->list;
  }
  return lists;
}

}  // namespace sinter
