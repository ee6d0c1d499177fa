// Whether JSON is what a schema says: as much of JSON Schema as ours uses.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace sinter::test {

/// What in `value` is not as `schema` says, one line each with its path; empty: nothing. Knows
/// `type`, `enum`, `required`, `properties`, `additionalProperties: false`, `items` and `$ref` to
/// `#/definitions/…`, and takes any other word but `description`, `title`, `$schema` and
/// `definitions` for a mistake.
std::string schema_offences(const nlohmann::json& schema, const nlohmann::json& value);

}  // namespace sinter::test
