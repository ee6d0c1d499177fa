// JSON that somebody else wrote, read into values that can be destroyed without memory, which those
// of the library that parses it cannot.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

struct JsonTree {
  enum class Kind : std::uint8_t { nothing, truth, whole, real, text, list, object };

  Kind kind = Kind::nothing;
  bool truth = false;
  std::int64_t whole = 0;
  double real = 0;  ///< of whole numbers, too
  std::string text;
  std::vector<JsonTree> list;
  std::map<std::string, JsonTree> members;  ///< of an object; of equal ones the last

  bool is(Kind which) const { return kind == which; }
};

/// Nothing where `text` is not JSON, or has lists and objects in one another more than `deepest`
/// times. Numbers that are no std::int64_t are real.
std::optional<JsonTree> parse_json(std::string_view text, std::size_t deepest = 16);

/// `text` with its quotes; what is no UTF-8 in it is replaced.
std::string json_quoted(std::string_view text);

}  // namespace sinter
