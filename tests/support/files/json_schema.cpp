#include "tests/support/files/json_schema.h"

#include <algorithm>
#include <set>
#include <vector>

namespace sinter::test {

namespace {

using nlohmann::json;

bool has_type(const json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  return type == value.type_name();
}

class SchemaWalk {
 public:
  explicit SchemaWalk(const json& root) : root_(root) {}

  void visit(const json& schema, const json& value, const std::string& path) {
    if (schema.contains("$ref")) {
      const auto name =
          schema["$ref"].get<std::string>().substr(std::string("#/definitions/").size());
      return visit(root_.at("definitions").at(name), value, path);
    }
    check_words(schema, path);
    const json types = schema.at("type").is_array() ? schema["type"] : json{schema["type"]};
    if (std::ranges::none_of(types, [&](const json& type) { return has_type(value, type); }))
      return complain(path, std::string("is ") + value.type_name() + ", not " + types.dump());
    if (schema.contains("enum") && std::ranges::find(schema["enum"], value) == schema["enum"].end())
      complain(path, "is " + value.dump() + ", none of " + schema["enum"].dump());
    if (value.is_object()) visit_sections(schema, value, path);
    if (value.is_array())
      for (std::size_t i = 0; i < value.size(); ++i)
        visit(schema.at("items"), value[i], path + "[" + std::to_string(i) + "]");
  }

  const std::string& offences() const { return offences_; }

 private:
  void complain(const std::string& path, const std::string& what) {
    offences_ += path + " " + what + "\n";
  }

  void check_words(const json& schema, const std::string& path) {
    static const std::set<std::string> known = {
        "$schema", "title", "description", "definitions",          "type",
        "enum",    "items", "properties",  "additionalProperties", "required"};
    for (const auto& [word, meaning] : schema.items())
      if (!known.contains(word)) complain(path, "has the unknown word " + word + " in its schema");
  }

  void visit_sections(const json& schema, const json& value, const std::string& path) {
    for (const json& name : schema.at("required"))
      if (!value.contains(name.get<std::string>())) complain(path, "lacks " + name.dump());
    for (const auto& [name, section] : value.items())
      if (schema.at("properties").contains(name))
        visit(schema["properties"][name], section, path + "." + name);
      else
        complain(path, "has " + name + ", which the schema does not know");
  }

  const json& root_;
  std::string offences_;
};

}  // namespace

std::string schema_offences(const json& schema, const json& value) {
  SchemaWalk walk(schema);
  walk.visit(schema, value, "$");
  return walk.offences();
}

}  // namespace sinter::test
