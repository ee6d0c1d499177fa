// The text of an index: `a0 * 4096 + a1`, where a0 and a1 are axes.
#pragma once

#include "ir/graph/node.h"
#include "ir/shape/index_map.h"

#include <string>

#include <fmt/format.h>

namespace sinter {

inline std::string index_text(const Index& index);

inline std::string atom_text(const IndexAtom& atom) {
  switch (atom.kind) {
    case IndexAtom::Kind::axis: return fmt::format("a{}", atom.axis);
    case IndexAtom::Kind::quotient:
      return fmt::format("({}) / ({})", index_text(atom.numerator), to_string(atom.divisor));
    case IndexAtom::Kind::remainder:
      return fmt::format("({}) % ({})", index_text(atom.numerator), to_string(atom.divisor));
    case IndexAtom::Kind::bounded:
      return fmt::format("({} < {})", index_text(atom.numerator), to_string(atom.divisor));
    case IndexAtom::Kind::indirect: break;
  }
  std::string text = fmt::format("node{}[", atom.tensor->id);
  for (const Index& at : atom.at) text += index_text(at) + ";";
  return text + "]";
}

inline std::string index_text(const Index& index) {
  std::string text;
  for (const IndexTerm& term : index.terms) {
    if (!text.empty()) text += " + ";
    text += atom_text(*term.atom);
    if (!term.coefficient.is(1)) text += " * " + to_string(term.coefficient);
  }
  if (text.empty()) return to_string(index.constant);
  return index.constant.is(0) ? text : text + " + " + to_string(index.constant);
}

}  // namespace sinter
