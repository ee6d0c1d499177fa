#include "runtime/support/archive.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "sinter/error.h"

namespace sinter {

namespace {

constexpr int kBits = 7;
constexpr unsigned kMore = 1U << kBits;

/// Tags that start an extent and an atom.
enum Kind : std::int64_t { kNumber, kSum };
enum AtomKind : std::int64_t { kSymbol, kQuotient };

bool atoms_less(const ExtentTerm& a, const ExtentTerm& b) {
  return std::ranges::lexicographical_compare(a.atoms, b.atoms, {}, &ExtentAtom::id,
                                              &ExtentAtom::id);
}

}  // namespace

void ArchiveWriter::number(std::int64_t value) {
  auto rest = (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
  for (; rest >= kMore; rest >>= kBits)
    bytes_.push_back(static_cast<std::byte>((rest & (kMore - 1)) | kMore));
  bytes_.push_back(static_cast<std::byte>(rest));
}

void ArchiveWriter::put(std::span<const std::byte> bytes) {
  number(static_cast<std::int64_t>(bytes.size()));
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void ArchiveWriter::put(double value) { number(std::bit_cast<std::int64_t>(value)); }

void ArchiveWriter::put(Extent extent) {
  if (extent.is_number()) return (*this)(kNumber, extent.number());
  const std::vector<ExtentTerm>& terms = extent.expression()->terms;
  (*this)(kSum, terms.size());
  for (const ExtentTerm& term : terms) {
    (*this)(term.coefficient, term.atoms.size());
    for (const ExtentAtom* atom : term.atoms) {
      if (atom->name.empty())
        (*this)(kQuotient, atom->numerator, atom->divisor);
      else
        (*this)(kSymbol, atom->id);
    }
  }
}

void ArchiveReader::fail(const std::string& what) const {
  throw InvalidData{fmt::format("{} (at byte {} of {})", what, at_, bytes_.size())};
}

void ArchiveReader::finish() const {
  if (at_ != bytes_.size()) fail("there is data after its end");
}

std::int64_t ArchiveReader::number() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += kBits) {
    if (at_ == bytes_.size()) fail("it ends in the middle of a number");
    const auto byte = static_cast<std::uint64_t>(bytes_[at_++]);
    value |= (byte & (kMore - 1)) << shift;
    if (byte >= kMore) continue;
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  fail("a number is too long");
}

std::int64_t ArchiveReader::number(std::int64_t least, std::int64_t most) {
  const std::int64_t value = number();
  if (value < least || value > most)
    fail(fmt::format("{} is not in the range from {} to {}", value, least, most));
  return value;
}

std::span<const std::byte> ArchiveReader::byte_string() {
  const std::int64_t bytes = number();
  const std::size_t rest = bytes_.size() - at_;
  if (bytes < 0 || static_cast<std::uint64_t>(bytes) > rest)
    fail(fmt::format("a part of {} bytes does not fit in the {} bytes left", bytes, rest));
  const std::span<const std::byte> result = bytes_.subspan(at_, static_cast<std::size_t>(bytes));
  at_ += result.size();
  return result;
}

void ArchiveReader::get(std::vector<std::byte>& bytes) {
  const std::span<const std::byte> read = byte_string();
  bytes.assign(read.begin(), read.end());
}

void ArchiveReader::get(std::string& text) {
  const std::span<const std::byte> read = byte_string();
  text.assign(reinterpret_cast<const char*>(read.data()), read.size());
}

void ArchiveReader::get(double& value) { value = std::bit_cast<double>(number()); }

/// Builds the extent from its terms without arithmetic, so that the memory is proportional to the
/// bytes.
Extent ArchiveReader::extent(int depth) {
  if (depth > kMaxDepth) fail("quotients are nested too deeply");
  if (number(kNumber, kSum) == kNumber) return number();
  constexpr std::int64_t kMaxTerms = 64;
  std::vector<ExtentTerm> terms;
  for (std::int64_t count = number(1, kMaxTerms); count > 0; --count) terms.push_back(term(depth));
  std::ranges::sort(terms, atoms_less);
  const auto same = [](const ExtentTerm& a, const ExtentTerm& b) { return a.atoms == b.atoms; };
  if (std::ranges::adjacent_find(terms, same) != terms.end()) fail("an extent has two like terms");
  if (terms.size() == 1 && terms[0].atoms.empty()) fail("an expression is a plain number");
  if (!table_) fail("there is an expression, but no table of symbols");
  return table_->intern(std::move(terms));
}

ExtentTerm ArchiveReader::term(int depth) {
  constexpr std::int64_t kMaxAtoms = 32;
  charge_memory(sizeof(ExtentTerm));
  ExtentTerm term{.atoms = {}, .coefficient = number()};
  if (term.coefficient == 0) fail("an extent has a term with coefficient 0");
  for (std::int64_t count = number(0, kMaxAtoms); count > 0; --count)
    term.atoms.push_back(atom(depth));
  std::ranges::sort(term.atoms, {}, &ExtentAtom::id);
  return term;
}

const ExtentAtom* ArchiveReader::atom(int depth) {
  charge_memory(sizeof(ExtentAtom));
  if (number(kSymbol, kQuotient) == kSymbol) {
    const std::int64_t symbol = number();
    if (symbol < 0 || static_cast<std::uint64_t>(symbol) >= symbols_.size() ||
        !symbols_[static_cast<std::size_t>(symbol)])
      fail(fmt::format("there is no symbol {}", symbol));
    return symbols_[static_cast<std::size_t>(symbol)];
  }
  const Extent numerator = extent(depth + 1);
  const Extent divisor = extent(depth + 1);
  if (divisor.is_number() && divisor.number() <= 0) fail("a divisor is less than 1");
  if (!table_) fail("there is an expression, but no table of symbols");
  try {
    return table_->quotient(numerator, divisor);
  } catch (const UserError& error) {
    fail(error.what());
  }
}

}  // namespace sinter
