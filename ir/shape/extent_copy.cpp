// Copies atoms once, then rebuilds expressions from the copied atoms.
#include "ir/shape/extent_copy.h"

namespace sinter {

ExtentCopier::ExtentCopier(const ExtentTable& from, ExtentTable& to,
                           std::span<const std::int64_t> values)
    : to_(to), values_(values) {
  // A quotient contains only older atoms.
  for (const std::unique_ptr<ExtentAtom>& atom : from.atoms()) {
    const ExtentAtom*& copy = atoms_[atom.get()];
    if (atom->name.empty()) {
      if (values.empty()) copy = to.quotient((*this)(atom->numerator), (*this)(atom->divisor));
    } else {
      to.symbol(atom->name);
      copy = to.symbols().back();
    }
  }
}

Extent ExtentCopier::operator()(Extent extent) {
  if (extent.is_number()) return extent;
  if (!values_.empty()) return evaluate(extent, values_);
  if (const auto known = expressions_.find(extent.expression()); known != expressions_.end())
    return known->second;
  std::vector<ExtentTerm> terms = extent.expression()->terms;
  for (ExtentTerm& term : terms)
    for (const ExtentAtom*& atom : term.atoms) atom = atoms_.lookup(atom);
  return expressions_[extent.expression()] = to_.intern(std::move(terms));
}

}  // namespace sinter
