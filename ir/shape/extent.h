// Extent expressions from the inside: canonical polynomials over symbols, interned per graph.
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

/// What a polynomial is made of: a named symbol, or floor(numerator / divisor) that did not divide.
struct ExtentAtom {
  int id = 0;        ///< order of creation; for symbols the index into the values of `evaluate`
  std::string name;  ///< of a symbol; empty for a quotient
  Extent numerator;
  Extent divisor;
  int size = 1;  ///< symbols and quotients that it is made of, itself included
};

/// coefficient × product of atoms (sorted by id, repeated for powers).
struct ExtentTerm {
  std::vector<const ExtentAtom*> atoms;
  std::int64_t coefficient = 0;
  friend bool operator==(const ExtentTerm&, const ExtentTerm&) = default;
};

/// A sum of terms with different atoms, sorted; a constant has no atoms and stands first.
struct ExtentExpression {
  ExtentTable* table = nullptr;
  std::vector<ExtentTerm> terms;
  std::uint64_t hash = 0;  ///< of the terms: the same in a copy of the table
};

/// Owns the symbols and expressions of a graph and of the graphs that passes make from it. Belongs
/// to one thread at a time.
class ExtentTable {
 public:
  ExtentTable();
  ~ExtentTable();
  ExtentTable(const ExtentTable&) = delete;
  ExtentTable& operator=(const ExtentTable&) = delete;

  /// The symbol `name`, made at its first use. Throws UserError unless it is letters, digits and _.
  Extent symbol(std::string_view name);
  /// The symbols in order of creation; their ids index `evaluate`'s values.
  std::span<const ExtentAtom* const> symbols() const { return symbols_; }
  /// Symbols and quotients in order of creation.
  std::span<const std::unique_ptr<ExtentAtom>> atoms() const { return atoms_; }

  /// Throws UserError where the expression outgrows what a shape can mean (kMaxTerms, …).
  Extent intern(std::vector<ExtentTerm> terms);
  const ExtentAtom* quotient(Extent numerator, Extent divisor);
  /// Sums and products are asked for again and again: each is worked out once.
  std::optional<Extent> known(char operation, Extent a, Extent b) const;
  Extent remember(char operation, Extent a, Extent b, Extent result);

 private:
  /// The operation, then number and expression of both operands.
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
  std::map<std::array<std::uintptr_t, 4>, const ExtentAtom*> quotient_by_parts_;
  std::unordered_map<Operation, Extent, Hash> results_;
};

/// The terms of any extent, a number included.
std::vector<ExtentTerm> terms_of(Extent extent);
/// The number `extent` is when symbol i has the value `symbol_values[i]`. Throws UserError where it
/// overflows 63 bits.
std::int64_t evaluate(Extent extent, std::span<const std::int64_t> symbol_values);
/// a / b when it divides exactly, as polynomials.
std::optional<Extent> divide_exactly(Extent a, Extent b);
/// True if `extent` >= 0 for all symbols >= 1. False means not proven.
bool provably_nonnegative(Extent extent);
/// True if `extent` < 0 for all symbols >= 1. False means not proven.
bool provably_negative(Extent extent);
/// True if a < b for all symbols >= 1. False means not proven.
bool provably_less(Extent a, Extent b);
/// The product of all extents; 1 for none.
Extent product(std::span<const Extent> extents);
/// The largest number that is known to divide `extent` (its content); 0 divides by everything.
std::int64_t known_divisor(Extent extent);

}  // namespace sinter
