// The inside of a Graph: immutable, arena-owned, uniqued nodes and what is kept beside them.
#pragma once

#include <cstdint>
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

/// The value of one attribute; which field counts is in the op's row.
struct Attribute {
  std::int64_t integer = 0;  ///< integer, or boolean
  DType dtype = DType::f32;
  Literal literal = {};
  Extent extent = {};
  std::span<const std::int64_t> integers = {};
  std::span<const Extent> extents = {};
  std::string_view text = {};
};

/// One op applied. Never changes, save for its id where a graph is rid of others
/// (`GraphData::keep_only`); equal nodes of a graph are the same node.
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
  bool is_unwritten = false;  ///< a view that nobody wants written (PlanOptions::unwritten_outputs)
};

/// `value` is written into `parameter` once everything has read its old contents.
struct UpdateInfo {
  const Node* parameter = nullptr;
  const Node* value = nullptr;
  Location location = {};
};

/// What a node is before it has a place in the arena.
struct NodeDraft {
  Op op;
  DType dtype;
  std::span<const Node* const> operands;
  std::span<const Extent> shape;
  std::span<const Attribute> attributes = {};
};

/// What is in a field of a growing list's items, so that a new one is checked in constant time.
template <class Key>
class KeyIndex {
 public:
  template <class Item>
  bool contains(const std::vector<Item>& list, Key Item::*field, const Key& key) {
    for (; indexed_ < list.size(); ++indexed_) ids_.add(hash_of(list[indexed_].*field), indexed_);
    const auto has_key = [&](std::uint32_t id) { return list[id].*field == key; };
    return ids_.find(hash_of(key), has_key).has_value();
  }

 private:
  /// Mixed, since the hash of a pointer is the pointer.
  static std::uint64_t hash_of(const Key& key) {
    return std::hash<Key>()(key) * 0x9e3779b97f4a7c15ULL >> 32;
  }

  IdTable ids_;
  std::uint32_t indexed_ = 0;
};

struct GraphData {
  explicit GraphData(std::string_view name) : name(name) {}

  std::string name;
  std::shared_ptr<ExtentTable> extents = std::make_shared<ExtentTable>();
  std::vector<const Node*> nodes;  ///< by id
  std::vector<InputInfo> inputs;   ///< in the order of declaration, scalars too
  std::vector<OutputInfo> outputs;
  std::vector<UpdateInfo> updates;
  CustomTable customs;  ///< what is known of the functions of custom nodes, by their source

  /// The node of `draft`, made at its first use. The one way in; checks are the caller's.
  const Node* make(const NodeDraft& draft, Location location);
  /// The node of `draft` where there is one already; else nullptr.
  const Node* find(const NodeDraft& draft) const;
  /// `node`, of another graph, written with operands and extents of this one as `draft`, which must
  /// not be here yet.
  const Node* copy(const Node& node, const NodeDraft& draft, Location location);
  /// The same, where it may be here; hashes of equal nodes are equal in all graphs.
  const Node* copy_once(const Node& node, const NodeDraft& draft, Location location);
  /// True if `node` is the one that `make` gives for its content.
  bool is_unique(const Node& node) const;
  /// Makes place for so many nodes in all.
  void reserve(std::size_t nodes);

  /// True if it is known that outputs and updates need all nodes there are.
  bool is_all_needed() const { return needed_ == nodes.size(); }
  /// They do now; once outputs or updates become other nodes, `forget_needed` is to be called.
  void set_all_needed() { needed_ = nodes.size(); }
  void forget_needed() { needed_ = 0; }
  /// Leaves `kept`, which outputs and updates need, behind the inputs, all of which stay: they get
  /// new ids, and what is not among them is no longer a node of this graph.
  void keep_only(std::span<const Node* const> kept);

  bool has_input(const std::string& called) {
    return input_names_.contains(inputs, &InputInfo::name, called);
  }
  bool has_output(const std::string& called) {
    return output_names_.contains(outputs, &OutputInfo::name, called);
  }
  bool has_update(const Node* parameter) {
    return updated_.contains(updates, &UpdateInfo::parameter, parameter);
  }

  Location location(const Node* node) const { return locations_[node->id]; }
  Location location_at(std::size_t id) const { return locations_[id]; }
  /// Gives the nodes from `first` on the place `location`.
  void set_locations(std::size_t first, Location location) {
    for (std::size_t id = first; id < locations_.size(); ++id) locations_[id] = location;
  }
  /// `model.cpp:42`: the last part of the path.
  std::string place(const Node* node) const;
  /// The user's name for the value, or "".
  std::string_view label(const Node* node) const;
  void set_label(const Node* node, std::string_view label);
  /// A copy of `text` that lives as long as the graph.
  const char* keep(std::string_view text);

  template <class T>
  std::span<const T> copy(std::span<const T> values) {
    if (values.empty()) return {};
    T* place = arena_.Allocate<T>(values.size());
    std::uninitialized_copy(values.begin(), values.end(), place);
    return {place, values.size()};
  }

 private:
  const Node* find(const NodeDraft& draft, std::uint64_t hash) const;
  /// Makes the node of `draft`, which is not there yet.
  const Node* settle(std::uint64_t hash, const NodeDraft& draft, Location location);

  SlabArena arena_;
  std::size_t needed_ = 0;  ///< how many nodes there were when all were needed
  IdTable unique_;
  std::vector<Location> locations_;  ///< by id
  std::vector<const char*> labels_;  ///< by id, up to the last one that has a label
  KeyIndex<std::string> input_names_;
  KeyIndex<std::string> output_names_;
  KeyIndex<const Node*> updated_;
};

/// `model.cpp:42`: the last part of the path.
std::string to_string(Location location);
/// `f32[rows, 4096]`
std::string type_text(const Node& node);
/// Same kind and bits.
bool same_bits(const Literal& a, const Literal& b);
/// `literal` as a double.
double as_real(const Literal& literal);

/// The attribute called `name`; asking for one that the op does not have is a bug.
const Attribute& attribute(const Node& node, std::string_view name);
/// The reduced axes of a reduction, ascending; the axis of a scan.
std::span<const std::int64_t> reduced_axes(const Node& node);
/// The reduced axes from the outermost to the innermost level of the reduction tree.
std::vector<std::int64_t> reduction_order(const Node& node);
bool keeps_axes(const Node& node);

/// The strides that `output` is written with.
std::vector<Extent> strides_of(const OutputInfo& output);

/// The inverse of Tensor's constructor, for code that makes nodes.
inline Tensor tensor(GraphData& graph, const Node* node) { return {node, &graph}; }

}  // namespace sinter
