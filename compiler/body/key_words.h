// Appends extents, positions and conditions to keys that consist of 64-bit words.
#pragma once

#include "compiler/body/body.h"

#include <cstdint>
#include <vector>

namespace sinter {

inline void append_words(std::vector<std::uint64_t>& key, Extent extent) {
  key.push_back(static_cast<std::uint64_t>(extent.number()));
  key.push_back(reinterpret_cast<std::uintptr_t>(extent.expression()));
}
inline void append_words(std::vector<std::uint64_t>& key, const Index& index) {
  append_words(key, index.constant);
  key.push_back(index.terms.size());
  for (const IndexTerm& term : index.terms) {
    key.push_back(static_cast<std::uint64_t>(term.atom->id));
    append_words(key, term.coefficient);
  }
}
inline void append_words(std::vector<std::uint64_t>& key,
                         const std::vector<Condition>& conditions) {
  for (const Condition& condition : conditions) {
    append_words(key, condition.at);
    append_words(key, condition.begin);
    append_words(key, condition.end);
  }
}

}  // namespace sinter
