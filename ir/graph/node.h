// The contents of a Graph: immutable, uniqued nodes in an arena, and the data stored next to them.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ops/op.h"
#include "ir/shape/extent.h"
#include "ir/support/adt.h"
#include "ir/support/id_table.h"
#include "ir/support/slab_allocator.h"
#include "sinter/custom_op.h"
#include "sinter/graph.h"

namespace sinter {

/// The value of one attribute. The op's row tells which field is used.
struct Attribute {
  std::int64_t integer = 0;  ///< integer, or boolean
  DType dtype = DType::f32;
  Literal literal = {};
  Extent extent = {};
  std::span<const std::int64_t> integers = {};
  std::span<const Extent> extents = {};
  std::string_view text = {};
};

/// One application of an op. Nodes never change, except that `GraphData::retain_nodes` assigns new
/// ids. Equal nodes of a graph are the same node.
struct Node {
  std::uint64_t hash = 0;
  Op op = Op::input;
  DType dtype = DType::f32;
  std::uint32_t id = 0;  ///< order of recording: operands have smaller ids
  std::span<const Node* const> operands;
  std::span<const Extent> shape;
  std::span<const Attribute> attributes;  ///< one for each in info(op).attributes

  int rank() const { return static_cast<int>(shape.size()); }
  const Node* operand(std::size_t i) const { return operands[i]; }
};

struct InputInfo {
  std::string name;
  const Node* node = nullptr;  ///< Op::input or Op::scalar
  std::optional<double> low = {};
  std::optional<double> high = {};
};

struct OutputInfo {
  std::string name;
  const Node* node = nullptr;
  std::vector<Extent> strides = {};  ///< in elements; empty: row-major
  Location location = {};
  bool is_unwritten = false;  ///< a view that is not written (PlanOptions::unwritten_outputs)
};

/// `value` is written into `parameter` after all reads of its old contents.
struct UpdateInfo {
  const Node* parameter = nullptr;
  const Node* value = nullptr;
  Location location = {};
};

/// The options of a custom op's source, from the first call in a graph that gave any.
struct CustomOpEntry {
  CustomOptions options;
  std::string op_name;   ///< in messages: `custom op swish`
  std::string location;  ///< of the call: `model.cpp:12`
};

/// The contents of a node that is not in an arena yet.
struct NodeDraft {
  Op op;
  DType dtype;
  std::span<const Node* const> operands;
  std::span<const Extent> shape;
  std::span<const Attribute> attributes = {};
};

/// Finds the items of a growing list by the value of one field, in constant time.
template <class Key>
class FieldIndex {
 public:
  /// The item of `list` whose `field` is `key`; nullptr if there is none. Calls must pass the same
  /// list and field.
  template <class Item>
  const Item* find(const std::vector<Item>& list, Key Item::*field, const Key& key) {
    for (; indexed_ < list.size(); ++indexed_) ids_.add(hash_of(list[indexed_].*field), indexed_);
    const auto has_key = [&](std::uint32_t id) { return list[id].*field == key; };
    const std::optional<std::uint32_t> id = ids_.find(hash_of(key), has_key);
    return id ? &list[*id] : nullptr;
  }

 private:
  /// Mixes the bits, because std::hash of a pointer returns the pointer.
  static std::uint64_t hash_of(const Key& key) {
    return std::hash<Key>()(key) * 0x9e3779b97f4a7c15ULL >> 32;
  }

  IdTable ids_;
  std::uint32_t indexed_ = 0;
};

/// The contents of a Graph.
struct GraphData {
  explicit GraphData(std::string_view name) : name(name) {}

  std::string name;
  std::shared_ptr<ExtentTable> extents = std::make_shared<ExtentTable>();
  std::vector<const Node*> nodes;  ///< by id
  std::vector<InputInfo> inputs;   ///< in the order of declaration, scalars too
  std::vector<OutputInfo> outputs;
  std::vector<UpdateInfo> updates;
  /// By source. Copies of a graph share the entries.
  std::map<std::string, std::shared_ptr<const CustomOpEntry>, std::less<>> custom_ops;

  /// The node of `draft`; creates it if there is none. The caller must check the draft. Recording
  /// creates nodes only here.
  const Node* make(const NodeDraft& draft, Location location);
  /// The node of `draft`, or nullptr if there is none.
  const Node* find(const NodeDraft& draft) const;
  /// make(draft), given the hash of the draft: equal nodes have equal hashes in all graphs.
  const Node* make(const NodeDraft& draft, Location location, std::uint64_t hash);
  /// The same, but the graph must not have the node.
  const Node* create_node(const NodeDraft& draft, Location location, std::uint64_t hash);
  /// True if `node` is the node that `make` returns for its content.
  bool is_unique(const Node& node) const;
  /// Allocates space for `nodes` nodes in total.
  void reserve(std::size_t nodes);

  /// True if outputs and updates are known to need all nodes.
  bool are_all_live() const { return live_count_ == nodes.size(); }
  /// Declares that all nodes are live. Call `invalidate_liveness` when outputs or updates become
  /// other nodes.
  void mark_all_live() { live_count_ = nodes.size(); }
  void invalidate_liveness() { live_count_ = 0; }
  /// Removes all nodes except the inputs and `live`, the nodes that outputs and updates need. The
  /// inputs come first, then `live` in order, with new ids.
  void retain_nodes(std::span<const Node* const> live);

  /// The input or output called `input` or `output`, or the update of `parameter`; nullptr if there
  /// is none.
  const InputInfo* find_input(const std::string& input) {
    return input_names_.find(inputs, &InputInfo::name, input);
  }
  const OutputInfo* find_output(const std::string& output) {
    return output_names_.find(outputs, &OutputInfo::name, output);
  }
  const UpdateInfo* find_update(const Node* parameter) {
    return updated_.find(updates, &UpdateInfo::parameter, parameter);
  }

  Location location(const Node* node) const { return locations_[node->id]; }
  Location location_at(std::size_t id) const { return locations_[id]; }
  /// Sets the location of all nodes from id `first` on.
  void set_locations(std::size_t first, Location location) {
    for (std::size_t id = first; id < locations_.size(); ++id) locations_[id] = location;
  }
  /// The location as text: `model.cpp:42`, without folders.
  std::string location_text(const Node* node) const;
  /// The user's name for the value; empty if there is none.
  std::string_view label(const Node* node) const;
  void set_label(const Node* node, std::string_view label);
  /// A copy of `text` that lives as long as the graph.
  const char* copy_text(std::string_view text);

  template <class T>
  std::span<const T> copy(std::span<const T> values) {
    if (values.empty()) return {};
    T* copies = arena_.Allocate<T>(values.size());
    std::uninitialized_copy(values.begin(), values.end(), copies);
    return {copies, values.size()};
  }

 private:
  const Node* find(const NodeDraft& draft, std::uint64_t hash) const;

  SlabArena arena_;
  std::size_t live_count_ = 0;  ///< the number of nodes when all were known to be live
  IdTable unique_;
  std::vector<Location> locations_;  ///< by id
  std::vector<const char*> labels_;  ///< by id, up to the last node with a label
  FieldIndex<std::string> input_names_;
  FieldIndex<std::string> output_names_;
  FieldIndex<const Node*> updated_;
};

/// `model.cpp:42`, without folders.
std::string to_string(Location location);
/// `f32[rows, 4096]`
std::string type_text(const Node& node);
/// The 64 bits of the value of `literal`.
constexpr std::uint64_t literal_bits(const Literal& literal) {
  return literal.kind == Literal::Kind::real ? std::bit_cast<std::uint64_t>(literal.real)
                                             : static_cast<std::uint64_t>(literal.integer);
}
/// True if both have the same kind and bits.
bool same_bits(const Literal& a, const Literal& b);
/// `literal` as a double.
double as_real(const Literal& literal);
/// The number in decimal; 0 or 1 for a boolean.
std::string decimal_text(const Literal& literal);

/// The attribute called `name`. Throws InternalError if the op has no attribute of this name.
const Attribute& attribute(const Node& node, std::string_view name);
/// The reduced axes of a reduction, ascending; the axis of a scan.
std::span<const std::int64_t> reduced_axes(const Node& node);
/// The reduced axes from the outermost to the innermost level of the reduction tree.
std::vector<std::int64_t> reduction_order(const Node& node);
/// The axes of `x` that `axes` does not name, ascending.
llvm::SmallVector<std::int64_t, 6> other_axes(const Node& x, std::span<const std::int64_t> axes);
/// The product of the extents of x's `axes`.
Extent extent_of_axes(const Node& x, std::span<const std::int64_t> axes);
/// The number of elements that each result of `reduction` combines.
Extent reduced_extent(const Node& reduction);
/// The extents of the operand's axes that `reduction` does not reduce.
std::vector<Extent> parallel_extents(const Node& reduction);
/// True if a reduction keeps its axes with extent 1.
bool keeps_axes(const Node& node);

/// The strides with which `output` is written.
std::vector<Extent> strides_of(const OutputInfo& output);

/// The Tensor of `node`, for code that creates nodes.
inline Tensor tensor(GraphData& graph, const Node* node) { return {node, &graph}; }

}  // namespace sinter
