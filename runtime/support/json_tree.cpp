#include "runtime/support/json_tree.h"

#include <nlohmann/json.hpp>

namespace sinter {

namespace {

using nlohmann::json;

/// Builds a JsonTree from the events of the SAX parser.
class Builder : public nlohmann::json_sax<json> {
 public:
  Builder(JsonTree& root, std::size_t deepest) : root_(root), deepest_(deepest) {}

  bool null() override { return add({}); }
  bool boolean(bool value) override { return add({.kind = Kind::boolean, .boolean = value}); }
  bool number_integer(number_integer_t value) override {
    return add({.kind = Kind::integer, .integer = value, .number = static_cast<double>(value)});
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > INT64_MAX) return add({.kind = Kind::number, .number = static_cast<double>(value)});
    return number_integer(static_cast<number_integer_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) override {
    return add({.kind = Kind::number, .number = value});
  }
  bool string(string_t& value) override {
    return add({.kind = Kind::string, .string = std::move(value)});
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open({.kind = Kind::object}); }
  bool key(string_t& name) override {
    key_ = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open({.kind = Kind::array}); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
  }

 private:
  using Kind = JsonTree::Kind;

  JsonTree& new_value() {
    if (open_.empty()) return root_;
    JsonTree& inside = *open_.back();
    return inside.is(Kind::array) ? inside.array.emplace_back() : inside.members[key_];
  }
  bool add(JsonTree value) {
    new_value() = std::move(value);
    return true;
  }
  bool open(JsonTree value) {
    if (open_.size() == deepest_) return false;
    open_.reserve(deepest_);
    JsonTree& opened = new_value();
    opened = std::move(value);
    open_.push_back(&opened);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  JsonTree& root_;
  const std::size_t deepest_;
  std::vector<JsonTree*> open_;  ///< nested open values, outermost first; only the last one grows
  std::string key_;
};

}  // namespace

std::optional<JsonTree> parse_json(std::string_view text, std::size_t deepest) {
  JsonTree root;
  Builder builder(root, deepest);
  if (!json::sax_parse(text, &builder)) return std::nullopt;
  return root;
}

std::string json_quoted(std::string_view text) {
  return json(text).dump(-1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
}

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/false,
                   nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace sinter
