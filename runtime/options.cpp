#include "sinter/options.h"

#include <fmt/format.h>

#include <cstdlib>

#include "sinter/error.h"

namespace sinter {

namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (const std::string_view part = text.substr(0, comma); !part.empty())
      parts.emplace_back(part);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return parts;
}

Tune parse_tune(std::string_view text) {
  if (text == "off") return Tune::off;
  if (text == "quick") return Tune::quick;
  if (text == "wide") return Tune::wide;
  throw UserError(fmt::format("SINTER_TUNE={}: expected off, quick or wide", text));
}

}  // namespace

Options options_from_environment(Options options) {
  if (const char* stages = std::getenv("SINTER_DUMP")) options.dump = split(stages);
  if (const char* passes = std::getenv("SINTER_SKIP")) options.skip = split(passes);
  if (const char* tune = std::getenv("SINTER_TUNE")) options.tune = parse_tune(tune);
  return options;
}

}  // namespace sinter
