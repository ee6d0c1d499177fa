// Names of values, parameters and axes in emitted source: the user's own if they are legal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

namespace sinter {

/// The source of the names of emitted values and parameters.
enum class Naming : std::uint8_t {
  by_graph,   ///< the user's names
  anonymous,  ///< generic names (`array`, `extent`) and no comments
};

/// Hands out names that are legal, not reserved, and different from one another.
class NameSet {
 public:
  /// `wanted` made legal, with a trailing `_` if it is reserved. If that name is taken, its first
  /// free numbered form, from `name_2` on.
  std::string take(std::string_view wanted);
  /// `name` may be taken again: its scope has ended.
  void release(const std::string& name) { taken_.erase(name); }

 private:
  std::unordered_set<std::string> taken_;
};

/// True for words that C++, CUDA or the prelude use.
bool is_reserved_word(std::string_view name);

}  // namespace sinter
