#include "sinter/options.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <system_error>

#include "runtime/disk_cache/disk_cache.h"
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

CacheMode parse_cache(std::string_view text) {
  if (text == "off") return CacheMode::off;
  if (text == "read_only") return CacheMode::read_only;
  if (text == "read_write") return CacheMode::read_write;
  throw UserError(fmt::format("SINTER_CACHE={}: expected off, read_only or read_write", text));
}

std::int64_t parse_bytes(std::string_view text) {
  std::int64_t bytes = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, bytes);
  if (error == std::errc{} && stop == end && bytes > 0) return bytes;
  throw UserError(fmt::format("SINTER_CACHE_BYTES={}: expected a number of bytes", text));
}

bool parse_verify(std::string_view text) {
  if (text == "cache") return true;
  throw UserError(fmt::format("SINTER_VERIFY={}: expected cache", text));
}

}  // namespace

Options options_from_environment(Options options) {
  if (const char* stages = std::getenv("SINTER_DUMP")) options.dump = split(stages);
  if (const char* passes = std::getenv("SINTER_SKIP")) options.skip = split(passes);
  if (const char* tune = std::getenv("SINTER_TUNE")) options.tune = parse_tune(tune);
  return options;
}

CacheOptions with_environment(CacheOptions cache) {
  if (const char* mode = std::getenv("SINTER_CACHE")) cache.mode = parse_cache(mode);
  if (const char* bytes = std::getenv("SINTER_CACHE_BYTES")) cache.max_bytes = parse_bytes(bytes);
  if (const char* what = std::getenv("SINTER_VERIFY")) cache.verify = parse_verify(what);
  return cache;
}

}  // namespace sinter
