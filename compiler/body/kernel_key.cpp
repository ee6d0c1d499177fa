#include "compiler/body/kernel_key.h"

#include <bit>

#include "compiler/body/body_request.h"
#include "ir/graph/operand_index.h"

namespace sinter {

namespace {

constexpr int kNoPositionYet = -1;
// Tags of words that do not describe a node.
constexpr std::uint64_t kLoad = std::uint64_t{1} << 32;
constexpr std::uint64_t kStrides = std::uint64_t{2} << 32;

void append_words(std::vector<std::uint64_t>& words, std::span<const Extent> extents) {
  words.push_back(extents.size());
  for (const Extent extent : extents) append_words(words, extent);
}

void append_words(std::vector<std::uint64_t>& words, const Attribute& attribute) {
  words.push_back(static_cast<std::uint64_t>(attribute.integer));
  words.push_back(static_cast<std::uint64_t>(attribute.dtype));
  const Literal& literal = attribute.literal;
  words.push_back(static_cast<std::uint64_t>(literal.kind));
  words.push_back(literal.kind == Literal::Kind::real
                      ? std::bit_cast<std::uint64_t>(literal.real)
                      : static_cast<std::uint64_t>(literal.integer));
  append_words(words, attribute.extent);
  words.push_back(attribute.integers.size());
  for (const std::int64_t integer : attribute.integers)
    words.push_back(static_cast<std::uint64_t>(integer));
  append_words(words, attribute.extents);
  words.push_back(attribute.text.size());
  for (const char c : attribute.text) words.push_back(static_cast<unsigned char>(c));
}

}  // namespace

std::uint64_t kernel_hash(const Kernel& kernel) {
  std::uint64_t key = kernel.stores.size();
  for (const Node* node : kernel.nodes)
    key = (key ^ static_cast<std::uint64_t>(node->op)) * 0xff51afd7ed558ccdULL;
  return key;
}

KernelKeys::KernelKeys(const GraphData& graph)
    : kinds_(graph.nodes.size()), loads_(graph.nodes.size()), positions_(graph.nodes.size()) {}

const KernelKey& KernelKeys::of(const BodyRequest& request) {
  ++request_;
  key_.clear();
  nodes_.clear();
  for (const Node* node : request.nodes)
    positions_[node->id] = {.request = request_, .position = kNoPositionYet};
  key_.push_back(static_cast<std::uint32_t>(request.nodes.size()));
  key_.push_back(static_cast<std::uint32_t>(request.stores.size()));
  // A value of another kernel that this kernel copies is loaded, even if it is a view.
  for (const StoreRequest& store : request.stores) {
    if (positions_[store.node->id].request == request_) continue;
    key_.push_back(load_of(*store.node, request));
    add(*store.node);
  }
  for (const Node* node : request.nodes) visit(*node, request);
  for (const StoreRequest& store : request.stores) {
    key_.push_back(static_cast<std::uint32_t>(positions_[store.node->id].position));
    words_ = {kStrides, static_cast<std::uint64_t>(store.aligned)};
    append_words(words_, store.strides);
    key_.push_back(number_of(words_));
  }
  return key_;
}

int KernelKeys::position(const Node* node) const {
  const Position& known = positions_[node->id];
  return known.request == request_ ? known.position : -1;
}

int KernelKeys::visit(const Node& node, const BodyRequest& request) {
  const bool is_known = positions_[node.id].request == request_;
  if (is_known && positions_[node.id].position != kNoPositionYet)
    return positions_[node.id].position;
  const bool is_computed = is_known || is_free(node) || is_view(node);
  if (!is_computed) {
    key_.push_back(load_of(node, request));
    return add(node);
  }
  llvm::SmallVector<int, 4> operands;
  for (const Node* operand : node.operands) operands.push_back(visit(*operand, request));
  key_.push_back(kind_of(node));
  for (const int operand : operands) key_.push_back(static_cast<std::uint32_t>(operand));
  return add(node);
}

int KernelKeys::add(const Node& node) {
  const int position = static_cast<int>(nodes_.size());
  positions_[node.id] = {.request = request_, .position = position};
  nodes_.push_back(&node);
  return position;
}

std::uint32_t KernelKeys::kind_of(const Node& node) {
  std::uint32_t& known = kinds_[node.id];
  if (known != 0) return known;
  words_ = {static_cast<std::uint64_t>(node.op), static_cast<std::uint64_t>(node.dtype),
            node.operands.size()};
  append_words(words_, node.shape);
  // The index of a scalar among the inputs identifies it but does not affect the computation.
  if (node.op != Op::scalar)
    for (const Attribute& attribute : node.attributes) append_words(words_, attribute);
  return known = number_of(words_);
}

std::uint32_t KernelKeys::load_of(const Node& node, const BodyRequest& request) {
  std::uint32_t& known = loads_[node.id];
  if (known != 0) return known;
  words_ = {kLoad + static_cast<std::uint64_t>(node.op), static_cast<std::uint64_t>(node.dtype)};
  append_words(words_, node.shape);
  append_words(words_,
               node.op == Op::input ? attribute(node, "strides").extents : request.strides(&node));
  words_.push_back(
      static_cast<std::uint64_t>(request.aligned ? request.aligned(&node) : kWellAligned));
  return known = number_of(words_);
}

std::uint32_t KernelKeys::number_of(const Words& words) {
  return numbers_.try_emplace(words, static_cast<std::uint32_t>(numbers_.size()) + 1).first->second;
}

}  // namespace sinter
