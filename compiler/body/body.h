// What one thread position of a kernel computes: values over the axes of an iteration space. Fusion
// asks whether a body exists, cost and schedules read its accesses, codegen prints it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph/node.h"
#include "ir/shape/index_map.h"
#include "ir/support/dense_map.h"

namespace sinter {

/// `begin <= at < end`: where one operand of a concat is the one that is read.
struct Condition {
  Index at;
  Extent begin;
  Extent end;
  friend bool operator==(const Condition&, const Condition&) = default;
};

/// The elements that the beginning of an array is a multiple of, as far as that is asked: no vector
/// has more. Parts of other arrays may begin anywhere.
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
    scanned,    ///< of a scan along the reduced axis, at this place on it
    scattered,  ///< of a scatter at this row and column, when all indices are done
  };
  Kind kind = Kind::literal;
  const Node* node = nullptr;
  DType dtype = DType::f32;
  llvm::SmallVector<int, 3> operands;
  Index at;
  std::vector<Condition> conditions;  ///< load: all must hold; select: one per operand but the last
  bool varies = false;                ///< along the reduced axis
  int stage = 0;                      ///< passes over the reduced axis that must be done before it
  bool is_final = false;              ///< known only when every row is done
  bool may_repeat = false;            ///< load: several positions may read one element
  int aligned = kWellAligned;         ///< load: elements that node's buffer begins at a multiple of
};

/// A reduction that the kernel carries out.
struct BodyReduction {
  const Node* node = nullptr;
  int operand = 0;  ///< the value that is accumulated, in pass `stage`
  int result = 0;   ///< Value::Kind::reduced
  int stage = 0;
};

struct BodyStore {
  const Node* node = nullptr;
  int request = 0;      ///< which of the stores that were asked for it is, or is a part of
  Extent elements = 0;  ///< that it writes of those
  int value = 0;
  std::vector<Index> position;             ///< per axis of the node; empty once axes are collapsed
  Index at;                                ///< element offset in memory
  std::vector<Condition> conditions = {};  ///< all must hold for it to happen
  bool varies = false;  ///< one element per position on the reduced axis, else one per row
  int stage = 0;
  bool is_final = false;       ///< one element for the whole kernel
  bool of_columns = false;     ///< final too, but one element per position on the reduced axis
  bool is_segment = false;     ///< writes a segment only, of a concat or of copies
  int aligned = kWellAligned;  ///< elements that the buffer begins at a multiple of
};

/// A scatter: every row of the result begins as `base`; then `source` of each k whose `index` is
/// the row is written to it or added. The space has the axes row, column and k; two of them stay.
/// Stores are of what is made of the result at its row and column.
struct BodyScatter {
  const Node* node = nullptr;
  int base = 0;
  int index = 0;
  int source = 0;
  int result = 0;  ///< Value::Kind::scattered
};

/// A row of a scatter's result, which a block may keep while it goes through the indices.
inline constexpr std::int64_t kMostScatteredBytes = 48 * 1024;

/// A scan along the reduced axis.
struct BodyScan {
  const Node* node = nullptr;
  int operand = 0;
  int result = 0;  ///< Value::Kind::scanned
};

/// The whole of a kernel's work. Axes 0 … parallel_axes - 1 of `space` stay; the next, if any,
/// goes.
struct Body {
  IndexSpace space;
  int parallel_axes = 0;
  bool has_reduced_axis = false;
  std::vector<Value> values;
  std::vector<BodyReduction> reductions;
  /// Reductions of one value per row over all rows: the last block to end carries them out.
  std::vector<BodyReduction> finals;
  /// Reductions over all rows of a value that varies within them: one result per position on the
  /// reduced axis, known when every row is done.
  std::vector<BodyReduction> columns;
  std::vector<BodyStore> stores;
  std::optional<BodyScatter> scatter;
  /// Others of as many rows, columns and indices: a block owns the same rows of each.
  std::vector<BodyScatter> more_scatters;
  std::optional<BodyScan> scan;
  /// Where one of these is 0, some results would be stored by nobody.
  std::vector<Extent> at_least_one;
  /// The value that each indirect atom reads.
  DenseMap<const IndexAtom*, int> indirect;

  int reduced_axis() const { return has_reduced_axis ? parallel_axes : -1; }
  Extent parallel_size() const;
  Extent reduced_size() const { return has_reduced_axis ? space.extent(parallel_axes) : Extent(1); }
  /// Passes over the reduced axis; 1 without one.
  int passes() const;
};

/// True if a kernel with a scatter stores its result and nothing else.
bool stores_only_scatter(const Body& body);
/// One row of every result that a kernel scatters into.
Extent bytes_of_rows(const Body& body);
/// True if the one result of a scatter's kernel may hold the scatter's sums for a while: they have
/// one dtype, in which sums are taken.
bool may_sum_in_results(const Body& body);

/// True for what every kernel computes for itself rather than loads: numbers, iota, full.
bool is_free(const Node& node);

}  // namespace sinter
