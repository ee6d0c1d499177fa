// The representation of Extent: canonical polynomials over symbols, interned per graph.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sinter/shape.h"

namespace sinter {

class ExtentTable;

/// A variable of a polynomial: a named symbol, or a floor(numerator / divisor) that is not exact.
struct ExtentAtom {
  int id = 0;        ///< order of creation; a symbol's id indexes the values of `evaluate`
  std::string name;  ///< of a symbol; empty for a quotient
  Extent numerator;
  Extent divisor;
  int size = 1;  ///< 1 for a symbol; for a quotient its numerator's size plus its divisor's
};

/// coefficient × product of atoms (sorted by id, repeated for powers).
struct ExtentTerm {
  std::vector<const ExtentAtom*> atoms;
  std::int64_t coefficient = 0;
  friend bool operator==(const ExtentTerm&, const ExtentTerm&) = default;
};

/// A sum of terms with different atoms, sorted; the constant term has no atoms and is first.
struct ExtentExpression {
  ExtentTable* table = nullptr;
  std::vector<ExtentTerm> terms;
  std::uint64_t hash = 0;  ///< of the terms; equal in a copy of the table
};

/// Owns the symbols and expressions of a graph and of the graphs that passes derive from it. Not
/// thread safe: one thread at a time may use it.
class ExtentTable {
 public:
  ExtentTable() = default;
  ExtentTable(const ExtentTable&) = delete;
  ExtentTable& operator=(const ExtentTable&) = delete;

  /// The symbol `name`, created at its first use. Throws UserError unless the name consists of
  /// letters, digits and _, begins with no digit and is no reserved word.
  Extent symbol(std::string_view name);
  /// The symbols in order of creation; their ids index `evaluate`'s values.
  std::span<const ExtentAtom* const> symbols() const { return symbols_; }
  /// Symbols and quotients in order of creation.
  std::span<const std::unique_ptr<ExtentAtom>> atoms() const { return atoms_; }

  /// The extent of canonical `terms`. Throws UserError above 64 terms, or 32 atoms in a term.
  Extent intern(std::vector<ExtentTerm> terms);
  /// The atom floor(numerator / divisor). Throws UserError if its size exceeds 256.
  const ExtentAtom* quotient(Extent numerator, Extent divisor);
  /// A cache of sums ('+') and products ('*'), because recording repeats them often.
  std::optional<Extent> cached_result(char operation, Extent a, Extent b) const;
  Extent cache_result(char operation, Extent a, Extent b, Extent result);

 private:
  /// The operation, then the number and the expression of each operand.
  using Operation = std::array<std::uintptr_t, 5>;
  struct Hash {
    std::size_t operator()(const Operation& operation) const;
  };
  struct Less {
    bool operator()(const std::unique_ptr<ExtentExpression>& a,
                    const std::unique_ptr<ExtentExpression>& b) const;
  };
  std::set<std::unique_ptr<ExtentExpression>, Less> expressions_;
  std::vector<std::unique_ptr<ExtentAtom>> atoms_;
  std::vector<const ExtentAtom*> symbols_;
  std::map<std::string_view, const ExtentAtom*> symbol_by_name_;
  std::unordered_map<Operation, const ExtentAtom*, Hash> quotients_;
  std::unordered_map<Operation, Extent, Hash> results_;
};

/// The terms of an extent: none for 0, one without atoms for any other number.
std::vector<ExtentTerm> terms_of(Extent extent);
/// The value of `extent` when symbol i has the value `symbol_values[i]`. Throws UserError if an
/// intermediate result does not fit in 64 bits, or a divisor is not positive.
std::int64_t evaluate(Extent extent, std::span<const std::int64_t> symbol_values);
/// The value of each of `extents`.
std::vector<std::int64_t> evaluate_all(std::span<const Extent> extents,
                                       std::span<const std::int64_t> symbol_values);
/// `rows = 2048` for each symbol of `table`, when symbol i has the value `symbol_values[i]`.
std::vector<std::string> size_texts(const ExtentTable& table,
                                    std::span<const std::int64_t> symbol_values);
/// a / b if b divides a exactly as a polynomial, else nullopt.
std::optional<Extent> divide_exactly(Extent a, Extent b);
/// True if `extent` >= 0 for all symbols >= 1. False means not proven.
bool provably_nonnegative(Extent extent);
/// True if `extent` < 0 for all symbols >= 1. False means not proven.
bool provably_negative(Extent extent);
/// True if a < b for all symbols >= 1. False means not proven.
bool provably_less(Extent a, Extent b);
/// The product of all extents; 1 for an empty list.
Extent product(std::span<const Extent> extents);

}  // namespace sinter
