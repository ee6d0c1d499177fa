// JsonTree: parsed JSON from an untrusted source. Its destructor allocates nothing, unlike that of
// nlohmann::json.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace sinter {

struct JsonTree {
  enum class Kind : std::uint8_t { null, boolean, integer, number, string, array, object };

  Kind kind = Kind::null;
  bool boolean = false;
  std::int64_t integer = 0;
  double number = 0;  ///< also set for integers
  std::string string;
  std::vector<JsonTree> array;
  std::map<std::string, JsonTree> members;  ///< of an object; the last one of equal keys

  bool is(Kind which) const { return kind == which; }
};

/// Parses `text`. Returns nothing if it is not JSON, or nests arrays and objects more than
/// `deepest` deep. Integers that do not fit in std::int64_t become numbers.
std::optional<JsonTree> parse_json(std::string_view text, std::size_t deepest = 16);

/// `text` as a JSON string with quotes. Invalid UTF-8 is replaced.
std::string json_quoted(std::string_view text);
/// `json` as indented text. Invalid UTF-8 is replaced, since names may be in any encoding.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace sinter
