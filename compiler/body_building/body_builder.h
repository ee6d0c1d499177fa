// The builder of bodies, for the files that it is made of: body.cpp finds the space and computes
// values, body_stores.cpp finds the places of what is stored.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/body/body_request.h"
#include "compiler/body_building/interned_positions.h"
#include "compiler/body_building/store_mapping.h"

namespace sinter {

/// Thrown inside the builder only: a body that cannot be is an everyday answer of `build_body`.
struct Refusal {
  std::string reason;
};

/// How many elements a result of `reduction` is made of.
Extent reduced_extent(const Node& reduction);
/// The extents of the axes that stay.
std::vector<Extent> parallel_extents(const Node& reduction);

/// The rows of a space in segments of one size along an axis: one place of the space has a row of
/// each.
struct Cut {
  int axis = -1;
  int segments = 1;
  friend bool operator==(const Cut&, const Cut&) = default;
};
/// Results of rows that lie along neighbouring rows: the work of a kernel of their own, or stored
/// where they are at hand.
enum class TransposedStores { apart, at_hand };
/// `body` anew with the segments of a concat computed in one place, where fewer bytes are read like
/// that, or far less is computed; else as it is.
Body split_concat_if_fewer_bytes(Body body, const BodyRequest& request, const NodeNames& names);
/// What concats that are stored have segments of: each may be the space of a kernel without
/// reductions, whose threads store all segments that they have at hand.
std::vector<const Node*> spaces_of_segments(const BodyRequest& request);

class BodyBuilder {
 public:
  /// `walked`: what a kernel without reductions has as its space, where that is no result.
  BodyBuilder(const BodyRequest& request, const NodeNames& names, Cut cut = {},
              TransposedStores turned = {}, const Node* walked = nullptr)
      : request_(request), names_(names), walked_(walked), cut_(cut), transposed_stores_(turned) {
    inside_.reserve(static_cast<unsigned>(request.nodes.size()));
    for (const Node* node : request.nodes) inside_.insert(node);
    body_.values.reserve(request.nodes.size() * 2);
    may_be_moved_ = may_be_moved();
  }

  Body build();
  /// True if some result of the rows may be at hand elsewhere than where its own order has it …
  bool may_store_transposed() const { return may_store_transposed_; }
  /// … and if one is stored there, along neighbouring rows.
  bool stores_transposed() const { return stores_transposed_; }

 private:
  void choose_space();
  /// An axis of rows; of one segment only where it is cut.
  void add_row_axis(Extent extent);
  /// The place along an axis of the rows, in `segment_`.
  Index row_axis(int axis);
  /// From here on rows are those of `segment`.
  void enter(int segment);
  static std::vector<Extent> strides_of(const StoreRequest& store);
  void add_reduction_space(const Node& reduction);
  /// `first`, or the reduction of rows whose columns it reduces.
  const Node& primary_reduction(const Node& first) const;
  /// Each block makes the rows that it owns, in the order of the indices; what is made of them is
  /// made by the threads that own their elements.
  void add_scatter_space(const Node& node);
  int scattered(const Node& node, int place);
  Index position_in(std::span<const Extent> shape);
  /// Where `reduction` reads its operand at this row and this place on the reduced axis.
  int operand_place(const Node& reduction);
  std::vector<Index> operand_position(const Node& reduction);

  // --- stores -----------------------------------------------------------------------------------
  void add_scatter();
  void add_scatters(std::span<const Index> at, const Index& k);
  void add_stores();
  void add_store(std::size_t place);
  /// Lets every reduction of rows be known, and what it reduces be at hand.
  void reduce_rows();
  /// Where the store of `place` for `segment_` belongs.
  BodyStore& store_of(std::size_t place) {
    return body_.stores[static_cast<std::size_t>(segment_) * request_.stores.size() + place];
  }
  /// True for what the kernel is asked to store.
  bool is_stored_by_request(const Node& node) const;
  /// True where another segment has stored all of it.
  bool is_stored(std::size_t place) const;
  /// True for as many elements as all rows have, where rows are reduced or scanned.
  bool counts_elements(Extent size) const;
  /// True for as many elements as there are rows, or places in all of them; and for one number.
  bool has_own_position(const Node& node) const;
  /// A bijection from the iteration space (or its rows) to the elements of `node`. A permuted
  /// result is walked as its operand is, so that what it reads lines up with the rows.
  int store_place(const Node& node);
  /// What counts the rows, the elements of the primary operand, or the places along rows.
  enum class Number : std::uint8_t { row, element, column };
  Index index_of(Number number) const;
  /// Where in `shape`, whose elements `number` counts, it stands.
  int place_of(Number number, std::span<const Extent> shape);
  /// A pointwise kernel that only stores a view walks the view itself.
  bool inside_only_as_store(const Node& node) const;
  /// True for a view of the kernel's size that permutes or flips: walked as its operand is, unless
  /// it is at hand where others read it. In a kernel of rows also for what is made of such views.
  bool is_moved(const Node& node) const;
  /// True if one of the nodes that do so is such that it `moves` elements.
  bool is_moved(const Node& node, const std::function<bool(const Node&)>& moves) const;
  /// False if `is_moved` is false of all that is computed and stored here.
  bool may_be_moved() const;
  /// From now on the sites of `node`, and of what it takes its elements from, are remembered.
  void watch(const Node& node);
  /// Where `node` is at hand, or can be made of what is, to `result`.
  void find_sites(const Node& node, DenseSet<const Node*>& seen, std::vector<Site>& result);
  /// The value at `site`, computed where it is not yet.
  int value_at(const Site& site);
  /// `always`: only where every place stores an element, next to its neighbours.
  bool store_where_found(std::size_t place, bool always = false);
  /// Where all elements are at hand several times, each of these copies by a store of its own.
  bool store_copies(std::size_t place, std::span<const Site> sites);
  bool store_segment_where_found(std::size_t place, std::span<const Site> sites, bool always);
  /// False if `site` has not every element.
  bool store_at(std::size_t place, const Site& site, bool always = false);
  /// The same of the elements of `segment_`, a segment along `axis`.
  bool store_segment_at(std::size_t place, const Site& site, std::size_t axis, bool always);
  /// True where a store at every place moves along an axis that loads move along: neighbouring
  /// threads, which read neighbours, write some too. Else tiles in a kernel apart are faster.
  bool fits_everywhere(std::size_t place, const StoreMapping& covered);
  /// The store of `elements` of what `place` asks for, at those places of `site` that are
  /// `covered`.
  BodyStore mapped_store(std::size_t place, const Site& site, StoreMapping covered,
                         Extent elements);

  // --- results in segments, in body_segments.cpp
  // ----------------------------------------------------
  /// A segment of a result, or some of its numbers: stored where `site` is at hand, at the position
  /// that `covered` has in the result.
  struct SegmentStore {
    const Node* of = nullptr;
    Site site;
    StoreMapping covered;
    Extent elements;
  };
  /// A concat, or a view of all of one, of what is at hand and of numbers. False for all else.
  bool store_in_segments(std::size_t place);
  /// The segments that `node` is made of, with positions in it; false if some are not at hand.
  bool find_segments(const Node& node, std::vector<SegmentStore>& result);
  bool find_whole_segment(const Node& node, std::vector<SegmentStore>& result);
  bool find_operands(const Node& concat, std::vector<SegmentStore>& result);
  /// Numbers are stored where elements of a `neighbour`, another operand of the concat, are.
  bool add_numbers(const Node& number, const SegmentStore& neighbour, std::size_t axis,
                   Extent begin, std::vector<SegmentStore>& result);

  bool is_of_elements(const Site& site) const;
  bool varies(const Site& site) const;
  [[noreturn]] void refuse_shape(const Node& node) const;

  // --- values -----------------------------------------------------------------------------------
  // Positions are numbers in `places_`.
  int evaluate(const Node& node, int place);
  int evaluate(const Node& node, std::span<const Index> at) {
    return evaluate(node, places_.of(at));
  }
  int compute(const Node& node, int place);
  /// Where `node`, at `place`, reads an operand.
  int operand_place(const Node& node, std::size_t operand, int place);
  int gather(const Node& node, std::span<const Index> at);
  int free_value(const Node& node, std::span<const Index> at);
  int load(const Node& node, int place);
  Index load_offset(const Node& node, int place);
  /// The load that reads the same place for a neighbouring segment of a concat: one load is enough.
  std::optional<int> read_with_neighbour(const Value& value);
  /// True if `node` reduces one value per row of this kernel over all rows, in their order.
  bool is_over_rows(const Node& node) const;
  /// When, and where along the rows, the result of a reduction is known.
  struct WhenKnown {
    bool varies = false;
    int stage = 0;
    bool is_final = false;
  };
  static Value result_of(const Node& node, const WhenKnown& when);
  /// The value that `node` reduces or scans, at `place`, whatever conditions its result is read
  /// under.
  int reduced_operand(const Node& node, int place);
  int final_result(const Node& node);
  /// True if `node` reduces over the rows, in their order, what lies at each place within them.
  bool is_over_columns(const Node& node) const;
  /// Where `reduction`, which is over columns, reads its operand at this row and place.
  std::vector<Index> column_position(const Node& reduction);
  int column_result(const Node& node, int place);
  /// True if `node` is made of what is reduced over columns.
  bool is_of_columns(const Node& node) const;
  /// A kernel has one scan and nothing that needs a whole row.
  int scanned(const Node& node, int place);
  int reduced(const Node& node, int place);
  int select(const Node& node, std::span<const Index> at);
  /// Computes the values that the indirect atoms of `at` stand for.
  void resolve_indirect(std::span<const Index> at);
  void resolve_indirect(const IndexAtom& atom);
  /// The number of the conditions that hold here; 0 for none.
  int branch();
  bool varies(const Index& index) const;
  int stage(const Index& index) const;
  int add(Value&& value);
  /// What a value is known again by: its node and place, and the branch.
  std::uint64_t key_of(const Node& node, int place);

  const BodyRequest& request_;
  const NodeNames& names_;
  DenseSet<const Node*> inside_;
  Body body_;
  const Node* primary_ = nullptr;
  const Node* scatter_ = nullptr;      ///< the first one
  std::vector<const Node*> scatters_;  ///< all that have as many rows, columns and indices
  bool has_columns_ = false;           ///< some reduction is over columns
  const Node* walked_ = nullptr;       ///< of a pointwise kernel, what is its space
  std::vector<int> walked_order_;      ///< its axes, as the space has them
  Cut cut_;
  TransposedStores transposed_stores_;
  bool may_store_transposed_ = false;
  bool stores_transposed_ = false;
  int segment_ = 0;                      ///< that rows are of at the moment
  int entered_ = -1;                     ///< that `row_` and `element_` are of
  bool may_be_moved_ = false;            ///< some node is one of those that `is_moved` looks for
  Extent rows_ = 1;                      ///< of all segments
  std::vector<int> reduction_segments_;  ///< of the rows of each of the body's reductions
  Index row_;                            ///< row-major number of the row over the parallel axes
  Index element_;  ///< row-major number of the element over the primary operand's shape
  std::vector<Condition> conditions_;
  bool may_repeat_ = false;  ///< some view on the way has an element in several places
  std::map<std::vector<std::uint64_t>, int> branches_;  ///< by the conditions
  Places places_;
  DenseMap<std::uint64_t, int> known_;
  /// What a place counts as where conditions hold, by both: below 0.
  DenseMap<std::pair<int, int>, int> places_in_branches_;
  /// Places of operands of reductions, which are alike where shapes and axes are.
  struct OperandPlace {
    int shape = 0;
    std::vector<std::int64_t> order;
    int place = 0;
  };
  std::vector<OperandPlace> operand_places_;
  /// Where what is broadcast is read, by the place of the result and the shape of the operand.
  DenseMap<std::pair<int, int>, int> broadcasts_;
  /// The place of a Number in a shape, for `entered_`.
  DenseMap<std::pair<int, int>, int> places_of_numbers_;
  std::map<std::vector<std::uint64_t>, std::vector<int>> segments_read_;  ///< by node and place
  DenseSet<const Node*> watched_;
  DenseMap<const Node*, std::vector<Site>> sites_;  ///< of what is watched
};

}  // namespace sinter
