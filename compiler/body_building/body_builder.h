// The body builder, shared by its implementation files. build_values.cpp finds the iteration space
// and computes values; place_stores.cpp finds the positions that store results.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/body/body_request.h"
#include "compiler/body_building/interned_positions.h"
#include "compiler/body_building/store_mapping.h"

namespace sinter {

/// Thrown only inside the builder: "no such body" is a normal answer of `build_body`.
struct Refusal {
  std::string reason;
};

/// Splits the rows along an axis into segments of equal size: one position of the space computes a
/// row of each segment.
struct ConcatSplit {
  int axis = -1;
  int segments = 1;
  friend bool operator==(const ConcatSplit&, const ConcatSplit&) = default;
};
/// Storage of results that are contiguous across adjacent rows: by a separate kernel, or `in_place`
/// at the positions that compute them.
enum class TransposedStores { separate_kernel, in_place };
/// Rebuilds `body` with the segments of a concat computed at one position, if that reads fewer
/// bytes or computes far less. Otherwise returns `body` unchanged.
Body split_concat_if_fewer_bytes(Body body, const BodyRequest& request, const NodeNames& names);
/// The nodes that stored concats have segments of. Each may be the iteration space of a kernel
/// without reductions, whose threads store all segments that they compute.
std::vector<const Node*> candidate_spaces(const BodyRequest& request);

class BodyBuilder {
 public:
  /// `space_node`: the node that defines the iteration space of a kernel without reductions, if
  /// that is not a result.
  BodyBuilder(const BodyRequest& request, const NodeNames& names, ConcatSplit split = {},
              TransposedStores transposed_stores = {}, const Node* space_node = nullptr)
      : request_(request),
        names_(names),
        space_node_(space_node),
        concat_split_(split),
        transposed_stores_(transposed_stores) {
    inside_.reserve(static_cast<unsigned>(request.nodes.size()));
    for (const Node* node : request.nodes) inside_.insert(node);
    body_.values.reserve(request.nodes.size() * 2);
    may_reorder_elements_ = may_reorder();
  }

  Body build();
  /// True if a build with `TransposedStores::in_place` could store a reordered result of the rows.
  bool may_store_transposed() const { return may_store_transposed_; }
  /// True if this build stores such a result, contiguously across adjacent rows.
  bool stores_transposed() const { return stores_transposed_; }

 private:
  void choose_space();
  /// Adds an axis of rows; with the extent of one segment if the axis is split.
  void add_row_axis(Extent extent);
  /// The position along an axis of the rows, in `segment_`.
  Index row_axis(int axis);
  /// Makes `segment` the current segment of the rows.
  void enter(int segment);
  static std::vector<Extent> strides_of(const StoreRequest& store);
  /// `first`, or the reduction of rows whose columns `first` reduces.
  const Node& primary_reduction(const Node& first) const;
  /// Each block computes the rows that it owns, in index order. The threads that own the elements
  /// compute the values derived from them.
  void add_scatter_space(const Node& node);
  int scattered(const Node& node, int position);
  Index row_index_in(std::span<const Extent> shape);
  /// The position at which `reduction` reads its operand, for this row and this position on the
  /// reduced axis.
  int operand_position(const Node& reduction);
  /// The indices at which `reduction` reads its operand, from the linear index over the reduced
  /// axes and the one over the other axes.
  std::vector<Index> operand_indices(const Node& reduction, const Index& reduced_at,
                                     const Index& kept_at);

  // --- stores -----------------------------------------------------------------------------------
  void add_scatter();
  /// True if all scatters scatter values of the same arrays, so that one load can serve them all.
  bool scatter_same_arrays() const;
  void add_stores();
  void add_store(std::size_t index);
  /// Evaluates every reduction of rows, so that its result and its operands are available.
  void reduce_rows();
  /// The store of request `index` for `segment_`.
  BodyStore& store_of(std::size_t index) {
    return body_.stores[static_cast<std::size_t>(segment_) * request_.stores.size() + index];
  }
  bool is_stored_by_request(const Node& node) const;
  /// True if another segment has stored the whole result.
  bool is_stored(std::size_t index) const;
  /// True if rows are reduced or scanned and `size` is the number of elements of all rows.
  bool counts_elements(Extent size) const;
  /// True if `node` has one element, or as many as there are rows, columns or elements of all rows.
  bool has_own_position(const Node& node) const;
  /// A bijection from the iteration space (or its rows) to the elements of `node`. A permuted
  /// result is stored in the order of its operand, so that its loads line up with the rows.
  int store_position(const Node& node);
  /// The linear index that a result follows: of rows, of elements of the primary operand, or of
  /// positions within a row.
  enum class Number : std::uint8_t { row, element, column };
  /// The position in `shape` whose row-major index is `number`.
  int position_of(Number number, std::span<const Extent> shape);
  /// True if a pointwise kernel visits `node`, a stored view, in the view's own order.
  bool defines_space(const Node& node) const;
  /// True for a view of the kernel's size that permutes, flips or rotates. It is stored in the
  /// order of its operand, unless it is available where others read it. In a kernel of rows, also
  /// true for values computed from such views.
  bool reorders_elements(const Node& node) const;
  /// False if `reorders_elements` is false for every node that is computed and stored here.
  bool may_reorder() const;
  /// Starts to record the sites of `node` and of the nodes that it takes its elements from.
  void record_sites_of(const Node& node);
  /// Appends to `result` the sites where `node` is available or can be computed from available
  /// values.
  void find_sites(const Node& node, DenseSet<const Node*>& seen, std::vector<Site>& result);
  /// The value at `site`, which this function computes if necessary.
  int value_at(const Site& site);
  /// Stores the result where a site has it. `always`: only if every position stores an element,
  /// adjacent to its neighbours.
  bool store_at_known_site(std::size_t index, bool always = false);
  /// Stores a result that repeats available elements: one store per copy.
  bool store_copies(std::size_t index, std::span<const Site> sites);
  /// Returns false if `site` does not have every element.
  bool store_at(std::size_t index, const Site& site, bool always = false);
  /// The same for the elements of `segment_`, a segment along any axis.
  bool store_segment_at(std::size_t index, const Site& site, bool always);
  /// True if every position stores, and the store moves along an axis that loads move along.
  /// Adjacent threads, which load adjacent elements, then also store some of them. Otherwise a
  /// separate kernel with tiles is faster.
  bool fits_everywhere(std::size_t index, const StoreMapping& mapping);
  /// The store of `elements` of the result of request `index`, at the positions of `site` that
  /// `mapping` selects.
  BodyStore mapped_store(std::size_t index, const Site& site, StoreMapping mapping,
                         Extent elements);

  // --- results in segments (concat_segments.cpp) ------------------------------------------------
  /// A segment of a result, or some of its numbers. It is stored where `site` is available, at the
  /// position in the result that `mapping` gives.
  struct SegmentStore {
    const Node* of = nullptr;
    Site site;
    StoreMapping mapping;
    Extent elements;
  };
  /// Stores a concat, or a view of all of one, whose operands are available values and numbers.
  /// Returns false for other results.
  bool store_in_segments(std::size_t index);
  /// Finds the segments of `node` and their positions in it; false if some are not available.
  bool find_segments(const Node& node, std::vector<SegmentStore>& result);
  bool find_whole_segment(const Node& node, std::vector<SegmentStore>& result);
  bool find_operands(const Node& concat, std::vector<SegmentStore>& result);
  /// Stores numbers at the positions of a `neighbour`, another operand of the concat.
  bool add_numbers(const Node& number, const SegmentStore& neighbour, std::size_t axis,
                   Extent begin, std::vector<SegmentStore>& result);

  bool is_of_elements(const Site& site) const;
  bool varies(const Site& site) const;
  [[noreturn]] void refuse_shape(const Node& node) const;

  // --- values -----------------------------------------------------------------------------------
  // An `int position` is the number of a position in `positions_`.
  int evaluate(const Node& node, int position);
  int evaluate(const Node& node, std::span<const Index> at) {
    return evaluate(node, positions_.of(at));
  }
  int compute(const Node& node, int position);
  /// The position at which `node`, at `position`, reads an operand.
  int operand_position(const Node& node, std::size_t operand, int position);
  int gather(const Node& node, std::span<const Index> at);
  int free_value(const Node& node, std::span<const Index> at);
  int load(const Node& node, int position);
  Index load_offset(const Node& node, int position);
  /// The load of the same address for an adjacent segment of a concat, which serves both segments.
  std::optional<int> read_with_neighbour(const Value& value);
  /// True if `node` reduces one value per row over all rows, in their order.
  bool is_over_rows(const Node& node) const;
  /// Appends a reduction of `operand` to `reductions`, a list of the body. Returns its `result`.
  int add_reduction(std::vector<BodyReduction>& reductions, int operand, Value result);
  /// The operand of the reduction or scan `node` at `position`, independent of the conditions under
  /// which its result is read.
  int reduced_operand(const Node& node, int position);
  int final_result(const Node& node);
  /// True if `node` reduces over all rows, in their order, separately at each position within them.
  bool is_over_columns(const Node& node) const;
  int column_result(const Node& node, int position);
  /// True if `node` depends on a column reduction.
  bool is_of_columns(const Node& node) const;
  /// A kernel has at most one scan, and then nothing that needs a whole row.
  int scanned(const Node& node, int position);
  int reduced(const Node& node, int position);
  int select(const Node& node, std::span<const Index> at);
  /// Computes the values of the indirect atoms of `at`.
  void resolve_indirect(std::span<const Index> at);
  void resolve_indirect(const IndexAtom& atom);
  /// The number of the current conditions; 0 if there are none.
  int branch();
  bool varies(const Index& index) const;
  int stage(const Index& index) const;
  int add(Value&& value);
  /// The key under which a value is reused: its node, position and branch.
  std::uint64_t key_of(const Node& node, int position);

  const BodyRequest& request_;
  const NodeNames& names_;
  DenseSet<const Node*> inside_;
  Body body_;
  const Node* primary_ = nullptr;
  const Node* scatter_ = nullptr;      ///< the first one
  std::vector<const Node*> scatters_;  ///< all with the same numbers of rows, columns and indices
  bool has_columns_ = false;           ///< some reduction is over columns
  const Node* space_node_ = nullptr;   ///< pointwise: the node that defines the space
  std::vector<int> space_order_;       ///< its axes, in the order of the space
  ConcatSplit concat_split_;
  TransposedStores transposed_stores_;
  bool may_store_transposed_ = false;
  bool stores_transposed_ = false;
  int segment_ = 0;                      ///< the current segment of the rows
  int entered_ = -1;                     ///< the segment for which `row_` and `element_` are valid
  bool may_reorder_elements_ = false;    ///< some node may satisfy `reorders_elements`
  Extent rows_ = 1;                      ///< of all segments
  std::vector<int> reduction_segments_;  ///< the segment of each of the body's reductions
  Index row_;                            ///< row-major index of the row over the parallel axes
  Index element_;  ///< row-major index of the element over the primary operand's shape
  std::vector<Condition> conditions_;
  bool may_repeat_ = false;  ///< some enclosing view contains an element several times
  std::map<std::vector<std::uint64_t>, int> branches_;  ///< by the conditions
  InternedPositions positions_;
  DenseMap<std::uint64_t, int> known_;
  /// The number of a position under conditions, by position and branch; negative.
  DenseMap<std::pair<int, int>, int> positions_in_branches_;
  /// Positions of reduction operands. Reductions with equal shapes and axes share a position.
  struct OperandPosition {
    int shape = 0;
    std::vector<std::int64_t> order;
    int position = 0;
  };
  std::vector<OperandPosition> operand_positions_;
  /// The position of a broadcast operand, by the position of the result and the operand's shape.
  DenseMap<std::pair<int, int>, int> broadcasts_;
  /// The position of a Number in a shape, for `entered_`.
  DenseMap<std::pair<int, int>, int> positions_of_numbers_;
  std::map<std::vector<std::uint64_t>, std::vector<int>> segments_read_;  ///< by node and position
  DenseSet<const Node*> recorded_nodes_;
  DenseMap<const Node*, std::vector<Site>> sites_;  ///< of recorded nodes
};

}  // namespace sinter
