// Index maps: canonical integer expressions over the axes of an iteration space that say which
// element of an operand a result element reads. Structural ops return them, schedules derive
// contiguity from them, and codegen prints them.
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

/// constant + Σ coefficient × atom. Canonical: terms are sorted by atom id and no coefficient is 0,
/// so `==` compares values within one IndexSpace.
struct Index {
  Extent constant = 0;
  llvm::SmallVector<IndexTerm, 2> terms;

  bool is_constant() const { return terms.empty(); }
  friend bool operator==(const Index&, const Index&) = default;
};

/// A variable of an Index, which is linear in its atoms.
struct IndexAtom {
  enum class Kind : std::uint8_t {
    axis,       ///< the index along an axis of the iteration space
    quotient,   ///< floor(numerator / divisor)
    remainder,  ///< numerator mod divisor
    indirect,   ///< the element of an integer Tensor, wrapped and clamped into [0, divisor)
    bounded,    ///< numerator, evaluated only when it is in [0, divisor)
  };
  Kind kind = Kind::axis;
  int id = 0;    ///< order of creation in its IndexSpace
  int axis = 0;  ///< of an axis
  Index numerator;
  Extent divisor;                ///< of an axis: its extent
  const Node* tensor = nullptr;  ///< of an indirect: the index tensor …
  std::vector<Index> at;         ///< … and the position of the element read from it
  int branch = 0;                ///< separates elements read under different conditions

  // Properties computed once, at creation. Atoms share subexpressions, so a recursive query could
  // take time exponential in the length of a chain of views.
  std::uint64_t axes = 0;         ///< bit a: the atom depends on axis a
  bool has_indirect = false;      ///< the atom is or contains an indirect
  bool has_bounded = false;       ///< the atom is or contains a bounded
  std::optional<Extent> largest;  ///< the largest value, if known
};

/// Owns the axes and atoms of a set of Index values.
class IndexSpace {
 public:
  IndexSpace() = default;
  IndexSpace(const IndexSpace&) = delete;
  IndexSpace& operator=(const IndexSpace&) = delete;
  IndexSpace(IndexSpace&&) = default;
  IndexSpace& operator=(IndexSpace&&) = default;

  /// Adds an axis that runs over [0, extent) and returns its index. At most 64 axes.
  Index add_axis(Extent extent);
  int axis_count() const { return static_cast<int>(axes_.size()); }
  Index axis(int number) const;
  Extent extent(int axis) const { return axes_[static_cast<std::size_t>(axis)]->divisor; }

  Index add(const Index& a, const Index& b);
  Index scale(const Index& a, Extent factor);
  /// floor(a / divisor) and a mod divisor, simplified with the known ranges of the axes.
  Index divide(const Index& a, Extent divisor);
  Index modulo(const Index& a, Extent divisor);
  /// The element of `tensor` at `at`, wrapped and clamped into [0, bound). Elements of different
  /// branches stay distinct, because each may be read only if its own conditions hold.
  Index indirect(const Node* tensor, std::vector<Index> at, Extent bound, int branch = 0);

  /// `a`, with the caller's promise that it is evaluated only when it is in [0, extent). Views of
  /// it simplify like views of an axis of that extent.
  Index assume_bounded(const Index& a, Extent extent);
  /// `index` with every bounded atom replaced by its numerator; called on finished indices.
  Index without_bounds(const Index& index);

  /// Row-major position in an array of `shape`, and its inverse.
  Index linearize(std::span<const Index> index, std::span<const Extent> shape);
  std::vector<Index> delinearize(const Index& linear, std::span<const Extent> shape);
  /// `index`, which may belong to another space, with each axis replaced.
  Index substitute(const Index& index, std::span<const Index> axes);

 private:
  const IndexAtom* intern(IndexAtom atom);
  Index without_bounds(const IndexAtom& atom);
  /// The value of `atom`, which is not an axis, after `map` is applied to the indices inside it. A
  /// bounded atom loses its bound.
  template <class Map>
  Index rebuild(const IndexAtom& atom, const Map& map);

  std::vector<std::unique_ptr<IndexAtom>> atoms_;
  std::vector<std::optional<Index>> without_bounds_;  ///< results of `without_bounds` by atom id
  std::vector<const IndexAtom*> axes_;
};

Index constant_index(Extent value);
/// The largest and the smallest value of `index`; nullopt if unknown.
std::optional<Extent> upper_bound(const Index& index);
std::optional<Extent> lower_bound(const Index& index);
/// True if 0 <= index < bound. False means not proven.
bool provably_within(const Index& index, Extent bound);

/// The coefficient of `axis` in `index`; 0 if the axis does not occur. nullopt if it occurs inside
/// an atom of another kind, so that `index` is not linear in it.
std::optional<Extent> coefficient_of(const Index& index, int axis);
/// True if each step along `axis` adds 1 to `index`.
inline bool has_unit_stride(const Index& index, int axis) {
  return coefficient_of(index, axis) == Extent(1);
}
/// True if `axis` occurs anywhere in `index`.
bool depends_on(const Index& index, int axis);
/// True if any indirect atom occurs in `index`.
bool has_indirect(const Index& index);

/// The value of `index`; `read` returns elements of indirect tensors, before wrapping.
std::int64_t evaluate(
    const Index& index, std::span<const std::int64_t> axes, std::span<const std::int64_t> symbols,
    const std::function<std::int64_t(const Node*, std::span<const std::int64_t>)>& read = {});
}  // namespace sinter
