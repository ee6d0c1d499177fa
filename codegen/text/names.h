// Names of values, parameters and axes in emitted source: the user's own where they are legal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

namespace sinter {

/// What emitted values and parameters are called.
enum class Naming : std::uint8_t {
  by_graph,   ///< what the user calls them
  anonymous,  ///< what they are; nothing is said in comments
};

/// Hands out names that are legal, not reserved, and different from one another.
class NameSet {
 public:
  /// `wanted` if it is free, else with the smallest number that makes it so.
  std::string take(std::string_view wanted);
  /// `name` may be taken again: its scope has ended.
  void release(const std::string& name) { taken_.erase(name); }

 private:
  std::unordered_set<std::string> taken_;
};

/// True for words that C++, CUDA or the prelude use.
bool is_reserved_word(std::string_view name);

}  // namespace sinter
