// Appends extents, positions and conditions to the keys under which a body builder reuses values.
#pragma once

#include "compiler/body/body.h"

#include <cstdint>
#include <vector>

namespace sinter {

inline void append(std::vector<std::uint64_t>& key, Extent extent) {
  key.push_back(static_cast<std::uint64_t>(extent.number()));
  key.push_back(reinterpret_cast<std::uintptr_t>(extent.expression()));
}
inline void append(std::vector<std::uint64_t>& key, const Index& index) {
  append(key, index.constant);
  key.push_back(index.terms.size());
  for (const IndexTerm& term : index.terms) {
    key.push_back(static_cast<std::uint64_t>(term.atom->id));
    append(key, term.coefficient);
  }
}
inline void append(std::vector<std::uint64_t>& key, const std::vector<Condition>& conditions) {
  for (const Condition& condition : conditions) {
    append(key, condition.at);
    append(key, condition.begin);
    append(key, condition.end);
  }
}

}  // namespace sinter
