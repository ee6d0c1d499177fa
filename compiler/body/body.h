// The computation of one thread position of a kernel: values over the axes of an iteration space.
// Fusion checks whether a body exists, cost and schedules read its accesses, and codegen prints it.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/node.h"
#include "ir/shape/index_map.h"
#include "ir/support/dense_map.h"

namespace sinter {

/// `begin <= at < end`: selects the operand of a concat that is read.
struct Condition {
  Index at;
  Extent begin;
  Extent end;
  friend bool operator==(const Condition&, const Condition&) = default;
};

/// The alignment of an ordinary array, in elements; no vector is wider. Sub-buffers may be less
/// aligned.
inline constexpr int kWellAligned = 16;

/// One value of the body.
struct Value {
  enum class Kind : std::uint8_t {
    literal,    ///< the number in node's attributes
    scalar,     ///< a run-time scalar
    number,     ///< `at` as a number: iota and size
    load,       ///< the element of node's buffer at offset `at`
    op,         ///< an elementwise op or cast of `operands`
    select,     ///< the operand whose condition holds (concat); the last one needs none
    reduced,    ///< the result of a reduction over the whole reduced axis
    scanned,    ///< the result of a scan at this position on the reduced axis
    scattered,  ///< the result of a scatter at this row and column, after all indices
  };
  Kind kind = Kind::literal;
  const Node* node = nullptr;
  DType dtype = DType::f32;
  llvm::SmallVector<int, 3> operands;
  Index at;
  std::vector<Condition> conditions;  ///< load: all must hold; select: one per operand but the last
  bool varies = false;                ///< along the reduced axis
  int stage = 0;                      ///< passes over the reduced axis that must precede it
  bool is_final = false;              ///< known only after all rows
  bool may_repeat = false;            ///< load: several positions may read one element
  /// Load: node's buffer starts at a multiple of this many elements.
  int aligned = kWellAligned;
};

/// A reduction or scan that the kernel computes.
struct BodyReduction {
  const Node* node = nullptr;
  int operand = 0;  ///< the value that is accumulated, in pass `stage`
  int result = 0;   ///< Value::Kind::reduced or scanned
  int stage = 0;
};

struct BodyStore {
  const Node* node = nullptr;
  int request = 0;      ///< the index of the requested store that it implements, fully or partly
  Extent elements = 0;  ///< the number of that store's elements that it writes
  int value = 0;
  std::vector<Index> position;             ///< per axis of the node; empty once axes are collapsed
  Index at;                                ///< element offset in memory
  std::vector<Condition> conditions = {};  ///< the store happens only if all hold
  bool varies = false;  ///< one element per position on the reduced axis, else one per row
  int stage = 0;
  bool is_final = false;  ///< one element for the whole kernel
  /// Also final, but with one element per position on the reduced axis.
  bool of_columns = false;
  bool is_segment = false;     ///< writes only a segment of a concat, or one of several copies
  int aligned = kWellAligned;  ///< the buffer starts at a multiple of this many elements
};

/// A scatter. Each row of the result starts as `base`. Each `source` row k is then written or added
/// to the row that its `index` names. The iteration space has the axes row, column and k; the first
/// two are parallel. Stores write values computed from the result at their row and column.
struct BodyScatter {
  const Node* node = nullptr;
  int base = 0;
  int index = 0;
  int source = 0;
  int result = 0;  ///< Value::Kind::scattered
};

/// Maximum bytes of a row that a block of a scatter keeps while it reads the indices.
inline constexpr std::int64_t kMaxScatteredBytes = 48 * 1024;

/// All work of a kernel. Axes 0 … parallel_axes - 1 of `space` are parallel; the next one, if any,
/// is the reduced axis.
struct Body {
  IndexSpace space;
  int parallel_axes = 0;
  bool has_reduced_axis = false;
  std::vector<Value> values;
  std::vector<BodyReduction> reductions;
  /// Reductions of one value per row over all rows; the last block computes them.
  std::vector<BodyReduction> finals;
  /// Reductions over all rows of a value that varies within a row. Each gives one result per
  /// position on the reduced axis, known after all rows.
  std::vector<BodyReduction> columns;
  std::vector<BodyStore> stores;
  std::optional<BodyScatter> scatter;
  /// Further scatters with the same numbers of rows, columns and indices. A block owns the same
  /// rows of each.
  std::vector<BodyScatter> more_scatters;
  std::optional<BodyReduction> scan;  ///< along the reduced axis
  /// Extents that must not be 0; otherwise no position would store some of the results.
  std::vector<Extent> at_least_one;
  /// The value that each indirect atom reads.
  DenseMap<const IndexAtom*, int> indirect;

  int reduced_axis() const { return has_reduced_axis ? parallel_axes : -1; }
  Extent parallel_size() const;
  Extent reduced_size() const { return has_reduced_axis ? space.extent(parallel_axes) : Extent(1); }
  /// Passes over the reduced axis; 1 without one.
  int passes() const;
};

/// True if a scatter's kernel stores the scatter's result and nothing else.
bool stores_only_scatter(const Body& body);
/// Bytes of one row of all results that the kernel scatters into.
Extent bytes_of_rows(const Body& body);
/// True if the only stored result of a scatter's kernel can temporarily hold the scatter's sums.
/// Both then have one dtype, which is also the compute type.
bool may_sum_in_results(const Body& body);

/// True for nodes that every kernel computes itself instead of loading: numbers, iota, full.
bool is_free(const Node& node);

}  // namespace sinter
