// Reads suite.json and fills sizes and dtypes into the graphs of the cases.
#include "bench/suite/suite_file.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sinter/error.h"

namespace sinter::suite {

namespace {

using Json = nlohmann::ordered_json;
using Names = std::vector<std::pair<std::string, std::string>>;

/// The approximate number of random elements that are generated; larger arrays repeat them.
constexpr std::int64_t kSmall = std::int64_t{1} << 20;

/// `text` with `$rows` and other names replaced. Longer names come first: `$middle` before `$mid`.
std::string filled(std::string text, Names names) {
  std::ranges::sort(names, std::greater{}, [](const auto& entry) { return entry.first.size(); });
  for (const auto& [name, value] : names) {
    const std::string marker = "$" + name;
    for (std::size_t at = 0; (at = text.find(marker, at)) != std::string::npos; at += value.size())
      text.replace(at, marker.size(), value);
  }
  return text;
}

Names names_of(const Json& sizes, const std::string& dtype) {
  Names names = {{"dtype", dtype}};
  for (const auto& [name, value] : sizes.items())
    names.emplace_back(name, std::to_string(value.get<std::int64_t>()));
  return names;
}

/// Reduces the first size, that of the leading axis, so that about kSmall elements remain. Row
/// lengths and index ranges do not change.
Json cut(Json sizes) {
  std::int64_t inner = 1;
  for (const auto& [name, value] : sizes.items())
    if (name != sizes.begin().key()) inner *= value.get<std::int64_t>();
  Json& leading = *sizes.begin();
  leading = std::clamp<std::int64_t>(kSmall / inner, 1, leading.get<std::int64_t>());
  return sizes;
}

std::map<std::string, Json> tiny_sizes(const Json& suite) {
  std::map<std::string, Json> sizes;
  for (const Json& row : suite.at("cases"))
    if (row.at("tiers").at(0) == "tiny") sizes[row.at("op")] = row.at("sizes");
  return sizes;
}

Case case_of(const Json& row, const Json& op, const Json& tiny) {
  const std::string text = op.at("text");
  const std::string dtype = row.at("dtype");
  return {.name = row.at("name"),
          .op = row.at("op"),
          .group = row.at("group"),
          .dtype = dtype,
          .text = filled(text, names_of(row.at("sizes"), dtype)),
          .small_text = filled(text, names_of(cut(row.at("sizes")), dtype)),
          .tiny_text = filled(text, names_of(tiny, dtype)),
          .bytes = row.at("bytes"),
          .modes = row.at("modes"),
          .tiers = row.at("tiers"),
          .offset = row.at("offset"),
          .seed = row.at("seed"),
          .kernels = op.at("kernels")};
}

}  // namespace

std::vector<Case> read_suite(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) throw UserError(fmt::format("the suite {} cannot be read", file));
  try {
    const Json suite = Json::parse(stream);
    std::map<std::string, Json> ops;
    for (const Json& op : suite.at("ops")) ops[op.at("op")] = op;
    const std::map<std::string, Json> tiny = tiny_sizes(suite);
    std::vector<Case> cases;
    for (const Json& row : suite.at("cases")) {
      const std::string op = row.at("op");
      cases.push_back(case_of(row, ops.at(op), tiny.at(op)));
    }
    return cases;
  } catch (const std::exception& error) {
    throw UserError(fmt::format("{} is not a suite: {}", file, error.what()));
  }
}

}  // namespace sinter::suite
