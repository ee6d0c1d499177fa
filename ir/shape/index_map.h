// Index expressions: which element of an operand feeds an element of a result, as canonical integer
// expressions over the axes of an iteration space. Structural ops answer in them, schedules read
// contiguity off them, codegen prints them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/shape/extent.h"
#include "ir/support/adt.h"

namespace sinter {

struct Node;

struct IndexAtom;

struct IndexTerm {
  const IndexAtom* atom = nullptr;
  Extent coefficient;
  friend bool operator==(const IndexTerm&, const IndexTerm&) = default;
};

/// constant + Σ coefficient × atom: canonical (terms sorted by atom, none 0), so equality is `==`.
struct Index {
  Extent constant = 0;
  llvm::SmallVector<IndexTerm, 2> terms;

  bool is_constant() const { return terms.empty(); }
  friend bool operator==(const Index&, const Index&) = default;
};

/// What an Index is linear in.
struct IndexAtom {
  enum class Kind : std::uint8_t {
    axis,       ///< the position along an axis of the iteration space
    quotient,   ///< floor(numerator / divisor)
    remainder,  ///< numerator mod divisor
    indirect,   ///< the element of an integer Tensor, wrapped and clamped into [0, divisor)
    bounded,    ///< numerator, asked for only where it is in [0, divisor)
  };
  Kind kind = Kind::axis;
  int id = 0;    ///< order of creation in its IndexSpace
  int axis = 0;  ///< of an axis
  Index numerator;
  Extent divisor;                ///< of an axis: its extent
  const Node* tensor = nullptr;  ///< of an indirect: the indices …
  std::vector<Index> at;         ///< … and where they are read
  int branch = 0;                ///< tells apart what is read under different conditions

  // Known once and for all when the atom is made: atoms share atoms, so that asking all the way
  // down could take time exponential in the length of a chain of views.
  std::uint64_t axes = 0;         ///< bit a: axis a occurs in it
  bool has_indirect = false;      ///< it is, or is made of, an indirect
  bool has_bounded = false;       ///< likewise of a bounded
  std::optional<Extent> largest;  ///< the largest value it can take, where that is known
};

/// Owns the axes and atoms that a set of Index values is made of.
class IndexSpace {
 public:
  IndexSpace() = default;
  IndexSpace(const IndexSpace&) = delete;
  IndexSpace& operator=(const IndexSpace&) = delete;
  IndexSpace(IndexSpace&&) = default;
  IndexSpace& operator=(IndexSpace&&) = default;

  /// A new axis that runs over [0, extent).
  Index add_axis(Extent extent);
  int axis_count() const { return static_cast<int>(axes_.size()); }
  Index axis(int number) const;
  Extent extent(int axis) const { return axes_[static_cast<std::size_t>(axis)]->divisor; }

  Index add(const Index& a, const Index& b);
  Index scale(const Index& a, Extent factor);
  /// floor(a / divisor) and a mod divisor, simplified by what is known of the axes' ranges.
  Index divide(const Index& a, Extent divisor);
  Index modulo(const Index& a, Extent divisor);
  /// The value of `tensor` at `at`, wrapped and clamped into [0, bound). Values of different
  /// branches are not taken for equal: each may be read only where its own conditions hold.
  Index indirect(const Node* tensor, std::vector<Index> at, Extent bound, int branch = 0);

  /// `a`, which is asked for only where it is in [0, extent): views of it are as simple as those of
  /// an axis of that extent. `plain` writes an index without such knowledge, once it is complete.
  Index bounded(const Index& a, Extent extent);
  Index plain(const Index& index);

  /// Row-major position in an array of `shape`; its inverse.
  Index linearize(std::span<const Index> index, std::span<const Extent> shape);
  std::vector<Index> delinearize(const Index& linear, std::span<const Extent> shape);
  /// `index`, which may belong to another space, with each axis replaced.
  Index substitute(const Index& index, std::span<const Index> axes);

 private:
  const IndexAtom* intern(IndexAtom atom);
  Index plain(const IndexAtom& atom);

  std::vector<std::unique_ptr<IndexAtom>> atoms_;
  std::vector<std::optional<Index>> plain_;  ///< by id: of atoms with a bounded
  std::vector<const IndexAtom*> axes_;
};

Index constant_index(Extent value);
/// The largest value `index` can take, where that is known; the smallest likewise.
std::optional<Extent> upper_bound(const Index& index);
std::optional<Extent> lower_bound(const Index& index);
/// True if 0 <= index < bound for certain.
bool provably_within(const Index& index, Extent bound);

/// The coefficient of `axis` where `index` is coefficient × axis + something without it; nullopt if
/// the axis occurs inside a quotient, remainder or indirect.
std::optional<Extent> coefficient_of(const Index& index, int axis);
/// True if `axis` occurs anywhere in `index`.
bool depends_on(const Index& index, int axis);
/// True if any indirect atom occurs in `index`.
bool has_indirect(const Index& index);

/// The value of `index`; `read` gives the elements of indirect tensors (not yet wrapped).
std::int64_t evaluate(
    const Index& index, std::span<const std::int64_t> axes, std::span<const std::int64_t> symbols,
    const std::function<std::int64_t(const Node*, std::span<const std::int64_t>)>& read = {});
/// For tests and messages: `a0 * 4096 + a1`.
std::string to_string(const Index& index);

}  // namespace sinter
