#include "runtime/tuning_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sinter {

namespace {

using nlohmann::json;

// Of a SHA-256, which tells kernels apart, and of half as much, which tells candidates of one
// apart.
constexpr std::size_t kKernelDigits = 64;
constexpr std::size_t kCandidateDigits = 32;
/// Microseconds, and GB/s: what lies outside was never measured.
constexpr double kLeast = 1e-12;
constexpr double kMost = 1e12;

/// Says which part of the text means nothing.
struct Meaningless {
  std::string what;
};

/// A value in the text, with the way to it.
class Reader {
 public:
  Reader(const json& value, std::string path) : value_(value), path_(std::move(path)) {}

  [[noreturn]] void fail(std::string_view what) const {
    throw Meaningless{fmt::format("{}: {}", path_, what)};
  }
  Reader at(const char* key) const {
    if (!value_.is_object() || !value_.contains(key)) fail(fmt::format("there is no {}", key));
    return {value_.at(key), fmt::format("{} {}", path_, key)};
  }
  bool has(const char* key) const { return value_.is_object() && value_.contains(key); }
  std::string text() const {
    if (!value_.is_string()) fail("not a text");
    const auto& text = value_.get_ref<const std::string&>();
    if (text.size() > kLongestTuningText)
      fail(fmt::format("longer than {} bytes", kLongestTuningText));
    for (const char c : text)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) fail("has control characters");
    return text;
  }
  bool truth() const {
    if (!value_.is_boolean()) fail("neither true nor false");
    return value_.get<bool>();
  }
  /// 0, or what may have been measured.
  double measure() const {
    if (!value_.is_number()) fail("not a number");
    const auto number = value_.get<double>();
    if (number != 0 && !(number >= kLeast && number <= kMost))
      fail(fmt::format("{} was never measured", number));
    return number;
  }
  std::int64_t whole(std::int64_t low, std::int64_t high) const {
    const bool is_whole = value_.is_number_integer() &&
                          !(value_.is_number_unsigned() && value_.get<std::uint64_t>() > INT64_MAX);
    if (!is_whole || value_.get<std::int64_t>() < low || value_.get<std::int64_t>() > high)
      fail(fmt::format("not a whole number from {} to {}", low, high));
    return value_.get<std::int64_t>();
  }
  template <class Take>
  void each_of_list(std::size_t most, Take take) const {
    if (!value_.is_array()) fail("not a list");
    if (value_.size() > most) fail(fmt::format("has more than {} elements", most));
    for (std::size_t i = 0; i < value_.size(); ++i)
      take(Reader(value_[i], fmt::format("{} {}", path_, i)));
  }
  /// `take(key, value)`; members are called by so many hexadecimal digits.
  template <class Take>
  void each_of_object(std::size_t digits, Take take) const {
    if (!value_.is_object()) fail("not an object");
    for (const auto& [key, value] : value_.items()) {
      if (key.size() != digits || key.find_first_not_of("0123456789abcdef") != std::string::npos)
        fail(fmt::format("has a member that is not called by {} hexadecimal digits", digits));
      take(key, Reader(value, fmt::format("{} {}…", path_, key.substr(0, 8))));
    }
  }

 private:
  const json& value_;
  std::string path_;
};

json to_json(const TuningFact& fact) {
  return {{"median_us", fact.median_us},
          {"lower_quartile_us", fact.lower_quartile_us},
          {"upper_quartile_us", fact.upper_quartile_us},
          {"gigabytes_per_second", fact.gigabytes_per_second},
          {"reference_us", fact.reference_us},
          {"blocks", fact.blocks},
          {"rounds", fact.rounds},
          {"launches", fact.launches},
          {"wide", fact.effort == Tune::wide},
          {"schedule", fact.schedule},
          {"problem", fact.problem},
          {"differs", fact.differs},
          {"was_disturbed", fact.was_disturbed}};
}

TuningFact read_fact(const Reader& from) {
  TuningFact fact{
      .median_us = from.at("median_us").measure(),
      .lower_quartile_us = from.at("lower_quartile_us").measure(),
      .upper_quartile_us = from.at("upper_quartile_us").measure(),
      .gigabytes_per_second = from.at("gigabytes_per_second").measure(),
      .reference_us = from.at("reference_us").measure(),
      .blocks = from.at("blocks").whole(0, INT64_MAX),
      .rounds = static_cast<int>(from.at("rounds").whole(1, 1 << 20)),
      .launches = static_cast<int>(from.at("launches").whole(1, 1 << 20)),
      .effort = from.at("wide").truth() ? Tune::wide : Tune::quick,
      .schedule = from.at("schedule").text(),
      .problem = from.at("problem").text(),
      .differs = from.at("differs").truth(),
      // Older files say nothing of it.
      .was_disturbed = from.has("was_disturbed") && from.at("was_disturbed").truth(),
  };
  if ((fact.median_us > 0) != fact.problem.empty())
    from.fail("a candidate has either a time or a problem");
  if (fact.median_us > 0 && fact.reference_us == 0)
    from.fail("a time means nothing without that of the default");
  if (fact.lower_quartile_us > fact.median_us || fact.median_us > fact.upper_quartile_us)
    from.fail("quartiles are in no order");
  return fact;
}

json to_json(const TunedSize& size) {
  json facts = json::object();
  for (const auto& [candidate, fact] : size.facts) facts[candidate] = to_json(fact);
  return {{"numbers", size.numbers}, {"sizes", size.sizes}, {"candidates", std::move(facts)}};
}

TunedSize read_size(const Reader& from) {
  TunedSize size{.numbers = {}, .sizes = from.at("sizes").text(), .facts = {}};
  from.at("numbers").each_of_list(
      SIZE_MAX, [&](const Reader& number) { size.numbers.push_back(number.whole(0, INT64_MAX)); });
  from.at("candidates")
      .each_of_object(kCandidateDigits, [&](const std::string& candidate, const Reader& fact) {
        size.facts[candidate] = read_fact(fact);
      });
  return size;
}

}  // namespace

std::string to_text(const StoredTunings& tunings) {
  json kernels = json::object();
  for (const auto& [kernel, known] : tunings.kernels) {
    json sizes = json::array();
    for (const TunedSize& size : known.sizes) sizes.push_back(to_json(size));
    kernels[kernel] = std::move(sizes);
  }
  // What a device is called may be in any encoding.
  return json{{"machine", tunings.machine}, {"kernels", std::move(kernels)}}.dump(
             /*indent=*/1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace) +
         "\n";
}

ParsedTunings parse_tunings(std::string_view text) {
  const json stored = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (stored.is_discarded()) return {.tunings = {}, .problem = "it is not JSON"};
  try {
    const Reader from(stored, "tunings");
    StoredTunings tunings{.machine = from.at("machine").text(), .kernels = {}};
    from.at("kernels").each_of_object(
        kKernelDigits, [&](const std::string& kernel, const Reader& sizes) {
          sizes.each_of_list(kMostTunedSizes, [&](const Reader& size) {
            TunedSize read = read_size(size);
            KernelTunings& known = tunings.kernels[kernel];
            if (known.at(read.numbers)) size.fail("that size is there twice");
            known.sizes.push_back(std::move(read));
          });
        });
    return {.tunings = std::move(tunings), .problem = {}};
  } catch (const Meaningless& meaningless) {
    return {.tunings = {}, .problem = meaningless.what};
  }
}

}  // namespace sinter
