#include "runtime/tuning/tuning_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "runtime/cache/cache_entry.h"
#include "runtime/support/json_tree.h"

namespace sinter {

namespace {

// Hexadecimal digits of the SHA-256 that identifies a kernel, and of the 128-bit hash that
// identifies one of its candidates.
constexpr std::size_t kKernelDigits = 64;
constexpr std::size_t kCandidateDigits = 32;
constexpr std::string_view kTuningMark = "sinter tuning ";
constexpr std::string_view kFormat = "1";
/// The plausible range of measured microseconds and GB/s.
constexpr double kMinMagnitude = 1e-12;
constexpr double kMaxMagnitude = 1e12;

/// Thrown for invalid text; says which part is wrong.
struct ParseError {
  std::string what;
};

/// A value in the text, with its path for messages.
class TuningReader {
 public:
  TuningReader(const JsonTree& value, std::string path) : value_(value), path_(std::move(path)) {}

  [[noreturn]] void fail(std::string_view what) const {
    throw ParseError{fmt::format("{}: {}", path_, what)};
  }
  bool has(const char* key) const {
    return value_.is(Kind::object) && value_.members.contains(key);
  }
  TuningReader at(const char* key) const {
    if (!has(key)) fail(fmt::format("there is no {}", key));
    return {value_.members.at(key), fmt::format("{} {}", path_, key)};
  }
  std::string text() const {
    if (!value_.is(Kind::string)) fail("not a text");
    if (value_.string.size() > kMaxTuningTextBytes)
      fail(fmt::format("longer than {} bytes", kMaxTuningTextBytes));
    for (const char c : value_.string)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) fail("has control characters");
    return value_.string;
  }
  bool boolean() const {
    if (!value_.is(Kind::boolean)) fail("neither true nor false");
    return value_.boolean;
  }
  /// 0, or a number in the plausible range.
  double measurement() const {
    if (!value_.is(Kind::integer) && !value_.is(Kind::number)) fail("not a number");
    const double number = value_.number;
    if (number != 0 && !(number >= kMinMagnitude && number <= kMaxMagnitude))
      fail(fmt::format("{} is not a plausible measurement", number));
    return number;
  }
  std::int64_t integer(std::int64_t low, std::int64_t high) const {
    if (!value_.is(Kind::integer) || value_.integer < low || value_.integer > high)
      fail(fmt::format("not a whole number from {} to {}", low, high));
    return value_.integer;
  }
  template <class Take>
  void each_of_list(std::size_t most, Take take) const {
    if (!value_.is(Kind::array)) fail("not a list");
    if (value_.array.size() > most) fail(fmt::format("has more than {} elements", most));
    for (std::size_t i = 0; i < value_.array.size(); ++i)
      take(TuningReader(value_.array[i], fmt::format("{} {}", path_, i)));
  }
  /// Calls `take(key, value)` for each member. Keys must have `digits` hexadecimal digits.
  template <class Take>
  void each_of_object(std::size_t digits, Take take) const {
    if (!value_.is(Kind::object)) fail("not an object");
    for (const auto& [key, value] : value_.members) {
      if (key.size() != digits || key.find_first_not_of("0123456789abcdef") != std::string::npos)
        fail(fmt::format("has a key that is not {} hexadecimal digits", digits));
      take(key, TuningReader(value, fmt::format("{} {}…", path_, key.substr(0, 8))));
    }
  }

 private:
  using Kind = JsonTree::Kind;

  const JsonTree& value_;
  std::string path_;
};

/// The JSON of a timing. `json_quoted` escapes texts, which may be in any encoding.
std::string to_json_text(const CandidateTiming& timing) {
  return fmt::format(
      R"({{"median_us": {}, "lower_quartile_us": {}, "upper_quartile_us": {},)"
      R"( "gigabytes_per_second": {}, "reference_us": {}, "blocks": {}, "rounds": {},)"
      R"( "launches": {}, "wide": {}, "schedule": {}, "problem": {}, "differs": {},)"
      R"( "was_disturbed": {}}})",
      timing.median_us, timing.lower_quartile_us, timing.upper_quartile_us,
      timing.gigabytes_per_second, timing.reference_us, timing.blocks, timing.rounds,
      timing.launches, timing.effort == Tune::wide, json_quoted(timing.schedule),
      json_quoted(timing.problem), timing.differs, timing.was_disturbed);
}

CandidateTiming read_timing(const TuningReader& from) {
  CandidateTiming timing{
      .median_us = from.at("median_us").measurement(),
      .lower_quartile_us = from.at("lower_quartile_us").measurement(),
      .upper_quartile_us = from.at("upper_quartile_us").measurement(),
      .gigabytes_per_second = from.at("gigabytes_per_second").measurement(),
      .reference_us = from.at("reference_us").measurement(),
      .blocks = from.at("blocks").integer(0, INT64_MAX),
      .rounds = static_cast<int>(from.at("rounds").integer(1, 1 << 20)),
      .launches = static_cast<int>(from.at("launches").integer(1, 1 << 20)),
      .effort = from.at("wide").boolean() ? Tune::wide : Tune::quick,
      .schedule = from.at("schedule").text(),
      .problem = from.at("problem").text(),
      .differs = from.at("differs").boolean(),
      // Older files do not have this key.
      .was_disturbed = from.has("was_disturbed") && from.at("was_disturbed").boolean(),
  };
  if ((timing.median_us > 0) != timing.problem.empty())
    from.fail("a candidate has either a time or a problem");
  if (timing.median_us > 0 && timing.reference_us == 0)
    from.fail("a time needs the time of the default");
  if (timing.lower_quartile_us > timing.median_us || timing.median_us > timing.upper_quartile_us)
    from.fail("quartiles are not in order");
  return timing;
}

std::string to_json_text(const TunedSize& size) {
  std::string text = fmt::format(R"(   {{"numbers": [{}], "sizes": {}, "candidates": {{)",
                                 fmt::join(size.numbers, ", "), json_quoted(size.sizes));
  for (const auto& [candidate, timing] : size.timings)
    text += fmt::format("{}\n    \"{}\": {}", text.ends_with('{') ? "" : ",", candidate,
                        to_json_text(timing));
  return text + "\n   }}";
}

TunedSize read_size(const TuningReader& from) {
  TunedSize size{.numbers = {}, .sizes = from.at("sizes").text(), .timings = {}};
  from.at("numbers").each_of_list(SIZE_MAX, [&](const TuningReader& number) {
    size.numbers.push_back(number.integer(0, INT64_MAX));
  });
  from.at("candidates")
      .each_of_object(kCandidateDigits,
                      [&](const std::string& candidate, const TuningReader& timing) {
                        size.timings[candidate] = read_timing(timing);
                      });
  return size;
}

}  // namespace

std::string to_text(const StoredTunings& tunings) {
  std::string text =
      fmt::format("{{\n \"machine\": {},\n \"kernels\": {{", json_quoted(tunings.machine));
  for (const auto& [kernel, known] : tunings.kernels) {
    text += fmt::format("{}\n  \"{}\": [", text.ends_with('{') ? "" : ",", kernel);
    for (const TunedSize& size : known.sizes)
      text += (text.ends_with('[') ? "\n" : ",\n") + to_json_text(size);
    text += "\n  ]";
  }
  return text + "\n }\n}\n";
}

ParsedTunings parse_tunings(std::string_view text) {
  const std::optional<JsonTree> stored = parse_json(text);
  if (!stored) return {.problem = "it is not JSON"};
  try {
    const TuningReader from(*stored, "tunings");
    StoredTunings tunings{.machine = from.at("machine").text(), .kernels = {}};
    from.at("kernels").each_of_object(
        kKernelDigits, [&](const std::string& kernel, const TuningReader& sizes) {
          sizes.each_of_list(kMaxTunedSizes, [&](const TuningReader& size) {
            TunedSize read = read_size(size);
            KernelTunings& known = tunings.kernels[kernel];
            if (known.at(read.numbers)) size.fail("the size is listed twice");
            known.sizes.push_back(std::move(read));
          });
        });
    return {.tunings = std::move(tunings)};
  } catch (const ParseError& error) {
    return {.problem = error.what};
  }
}

std::string pack_tuning_file(const StoredTunings& tunings) {
  const std::string text = to_text(tunings);
  return fmt::format("{}{} {}\n{}", kTuningMark, kFormat, name_of(text).hex(), text);
}

ParsedTunings unpack_tuning_file(std::string_view file) {
  const std::size_t end = file.find('\n');
  if (!file.starts_with(kTuningMark) || end == std::string_view::npos)
    return {.problem = "is not a tuning file: write one with export_tuning (sinter tune --export)"};
  const std::string_view head = file.substr(kTuningMark.size(), end - kTuningMark.size());
  const std::string_view format = head.substr(0, head.find(' '));
  if (format != kFormat)
    return {.problem = fmt::format(
                "has another format than {}, which this sinter reads: export it again", kFormat)};
  const std::string_view text = file.substr(end + 1);
  if (head.substr(std::min(head.size(), format.size() + 1)) != name_of(text).hex())
    return {.problem = "is damaged: its contents do not have the checksum of its first line"};
  ParsedTunings parsed = parse_tunings(text);
  if (!parsed.tunings)
    parsed.problem = fmt::format("cannot be parsed ({}): export it again", parsed.problem);
  return parsed;
}

}  // namespace sinter
