// Validates JSON against a schema. Supports the part of JSON Schema that sinter's schemas use.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace sinter::test {

/// The violations of `schema` in `value`, one line each with its path; empty if there are none.
/// Supports `type`, `enum`, `required`, `properties`, `additionalProperties: false`, `items` and
/// `$ref` to `#/definitions/…`. Ignores `description`, `title`, `$schema` and `definitions`. Any
/// other word in the schema is a violation.
std::string schema_offences(const nlohmann::json& schema, const nlohmann::json& value);

}  // namespace sinter::test
