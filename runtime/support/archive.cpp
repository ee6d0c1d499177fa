#include "runtime/support/archive.h"

#include <algorithm>
#include <bit>
#include <compare>

#include <fmt/format.h>

#include "sinter/error.h"

namespace sinter {

namespace {

constexpr int kBits = 7;
constexpr unsigned kMore = 1U << kBits;

/// How an extent, and an atom of it, begins.
enum Kind : std::int64_t { kNumber, kSum };
enum AtomKind : std::int64_t { kSymbol, kQuotient };

bool atoms_less(const ExtentTerm& a, const ExtentTerm& b) {
  return std::ranges::lexicographical_compare(a.atoms, b.atoms, {}, &ExtentAtom::id,
                                              &ExtentAtom::id);
}

}  // namespace

void Writer::number(std::int64_t value) {
  auto rest = (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
  for (; rest >= kMore; rest >>= kBits)
    bytes_.push_back(static_cast<std::byte>((rest & (kMore - 1)) | kMore));
  bytes_.push_back(static_cast<std::byte>(rest));
}

void Writer::put(std::span<const std::byte> bytes) {
  number(static_cast<std::int64_t>(bytes.size()));
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void Writer::put(double value) { number(std::bit_cast<std::int64_t>(value)); }

void Writer::put(Extent extent) {
  if (extent.is_number()) return (*this)(static_cast<std::int64_t>(kNumber), extent.number());
  const std::vector<ExtentTerm>& terms = extent.expression()->terms;
  (*this)(static_cast<std::int64_t>(kSum), terms.size());
  for (const ExtentTerm& term : terms) {
    (*this)(term.coefficient, term.atoms.size());
    for (const ExtentAtom* atom : term.atoms) {
      if (atom->name.empty())
        (*this)(static_cast<std::int64_t>(kQuotient), atom->numerator, atom->divisor);
      else
        (*this)(static_cast<std::int64_t>(kSymbol), atom->id);
    }
  }
}

void Reader::fail(const std::string& what) const {
  throw Damage{fmt::format("{} (at byte {} of {})", what, at_, bytes_.size())};
}

void Reader::finish() const {
  if (at_ != bytes_.size()) fail("it goes on where it should end");
}

std::int64_t Reader::number() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += kBits) {
    if (at_ == bytes_.size()) fail("it ends in the middle of a number");
    const auto byte = static_cast<std::uint64_t>(bytes_[at_++]);
    value |= (byte & (kMore - 1)) << shift;
    if (byte >= kMore) continue;
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  fail("a number has no end");
}

std::int64_t Reader::number(std::int64_t least, std::int64_t most) {
  const std::int64_t value = number();
  if (value < least || value > most)
    fail(fmt::format("{} stands where a number from {} to {} should", value, least, most));
  return value;
}

std::span<const std::byte> Reader::part() {
  const std::int64_t bytes = number();
  const std::size_t rest = bytes_.size() - at_;
  if (bytes < 0 || static_cast<std::uint64_t>(bytes) > rest)
    fail(fmt::format("a part of {} bytes begins where {} are left", bytes, rest));
  const std::span<const std::byte> result = bytes_.subspan(at_, static_cast<std::size_t>(bytes));
  at_ += result.size();
  return result;
}

void Reader::get(std::vector<std::byte>& bytes) {
  const std::span<const std::byte> read = part();
  bytes.assign(read.begin(), read.end());
}

void Reader::get(std::string& text) {
  const std::span<const std::byte> read = part();
  text.assign(reinterpret_cast<const char*>(read.data()), read.size());
}

void Reader::get(double& value) { value = std::bit_cast<double>(number()); }

/// Built from its parts, not computed: memory stays in proportion to the bytes.
Extent Reader::extent(int depth) {
  if (depth > kDeepest) fail("quotients lie too deep in one another");
  if (number(kNumber, kSum) == kNumber) return number();
  constexpr std::int64_t kMostTerms = 64;
  std::vector<ExtentTerm> terms;
  for (std::int64_t count = number(1, kMostTerms); count > 0; --count) terms.push_back(term(depth));
  std::ranges::sort(terms, atoms_less);
  const auto same = [](const ExtentTerm& a, const ExtentTerm& b) { return a.atoms == b.atoms; };
  if (std::ranges::adjacent_find(terms, same) != terms.end()) fail("an extent repeats itself");
  if (terms.size() == 1 && terms[0].atoms.empty()) fail("an extent is a number after all");
  if (!table_) fail("an extent stands where there are no symbols");
  return table_->intern(std::move(terms));
}

ExtentTerm Reader::term(int depth) {
  constexpr std::int64_t kMostAtoms = 32;
  take(sizeof(ExtentTerm));
  ExtentTerm term{.atoms = {}, .coefficient = number()};
  if (term.coefficient == 0) fail("an extent has an empty product");
  for (std::int64_t count = number(0, kMostAtoms); count > 0; --count)
    term.atoms.push_back(atom(depth));
  std::ranges::sort(term.atoms, {}, &ExtentAtom::id);
  return term;
}

const ExtentAtom* Reader::atom(int depth) {
  take(sizeof(ExtentAtom));
  if (number(kSymbol, kQuotient) == kSymbol) {
    const std::int64_t symbol = number();
    if (symbol < 0 || static_cast<std::uint64_t>(symbol) >= symbols_.size() ||
        !symbols_[static_cast<std::size_t>(symbol)])
      fail(fmt::format("there is no symbol {}", symbol));
    return symbols_[static_cast<std::size_t>(symbol)];
  }
  const Extent numerator = extent(depth + 1);
  const Extent divisor = extent(depth + 1);
  if (divisor.is_number() && divisor.number() <= 0) fail("an extent is divided by no number");
  if (!table_) fail("an extent stands where there are no symbols");
  try {
    return table_->quotient(numerator, divisor);
  } catch (const UserError& error) {
    fail(error.what());
  }
}

}  // namespace sinter
