// Stored timings: in the disk cache, which processes share, and in untrusted tuning files.
#include "runtime/tuning/tuning_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "runtime/tuning/tuning_format.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::tuning_store_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string kernel(int number) { return name_of(std::to_string(number)).hex(); }
std::string candidate(int number) { return kernel(number).substr(32); }

CandidateTiming timing(double microseconds) {
  return {.median_us = microseconds,
          .lower_quartile_us = 0.9 * microseconds,
          .upper_quartile_us = 1.1 * microseconds,
          .gigabytes_per_second = 123.4567890123,
          .reference_us = 3.3,
          .blocks = 132,
          .rounds = 7,
          .launches = 32,
          .schedule = "threads 256"};
}

TunedSize size(std::int64_t n, std::map<std::string, CandidateTiming> timings) {
  return {.numbers = {n, 0}, .sizes = fmt::format("n = {}", n), .timings = std::move(timings)};
}

StoredTunings sample() {
  const CandidateTiming dropped{.blocks = 1,
                                .rounds = 1,
                                .launches = 4,
                                .effort = Tune::wide,
                                .problem = "its result differs",
                                .differs = true};
  return {
      .machine = "a GPU, 132 SMs",
      .kernels = {{kernel(1),
                   {.sizes = {size(1, {{candidate(10), timing(1.0 / 3)}, {candidate(11), dropped}}),
                              size(1LL << 62, {{candidate(10), timing(5e6)}})}}},
                  {kernel(2), {.sizes = {size(3, {{candidate(12), timing(7)}})}}}}};
}

std::string problem_of(std::string_view file) { return unpack_tuning_file(file).problem; }

/// Prepends a header with the checksum of `text`.
std::string with_checksum(std::string_view text) {
  return fmt::format("sinter tuning 1 {}\n{}", name_of(text).hex(), text);
}

TEST(TuningFile, RoundTrips) {
  const std::string file = pack_tuning_file(sample());
  const ParsedTunings parsed = unpack_tuning_file(file);
  ASSERT_TRUE(parsed.tunings) << parsed.problem;
  EXPECT_EQ(*parsed.tunings, sample());
  EXPECT_EQ(pack_tuning_file(*parsed.tunings), file);
}

TEST(TuningFile, ReportsTheProblemAndTheRemedy) {
  const std::string file = pack_tuning_file(sample());
  constexpr const char* kNone =
      "is not a tuning file: write one with export_tuning (sinter tune --export)";
  EXPECT_EQ(problem_of(""), kNone);
  EXPECT_EQ(problem_of("{}\n"), kNone);
  EXPECT_EQ(problem_of("sinter tuning 2 abc\n{}"),
            "has another format than 1, which this sinter reads: export it again");
  constexpr const char* kDamaged =
      "is damaged: its contents do not have the checksum of its first line";
  EXPECT_EQ(problem_of(file.substr(0, file.size() / 2)), kDamaged);
  EXPECT_EQ(problem_of("sinter tuning 1\n"), kDamaged);
  EXPECT_EQ(problem_of(with_checksum("{")), "cannot be parsed (it is not JSON): export it again");
}

/// Files of earlier versions lack this field.
TEST(TuningFile, WasDisturbedIsOptional) {
  StoredTunings disturbed = sample();
  disturbed.kernels.at(kernel(2)).sizes[0].timings.at(candidate(12)).was_disturbed = true;
  std::string text = to_text(disturbed);
  EXPECT_EQ(parse_tunings(text).tunings, disturbed);
  for (const std::string value : {"true", "false"}) {
    const std::string section = ",\n      \"was_disturbed\": " + value;
    for (std::size_t at = text.find("\"was_disturbed\": " + value); at != text.npos;
         at = text.find("\"was_disturbed\": " + value)) {
      const std::size_t begin = text.rfind(',', at);
      text.erase(begin, text.find(value, at) + value.size() - begin);
    }
  }
  EXPECT_EQ(parse_tunings(text).tunings, sample());
}

TEST(TuningFile, ReportsInvalidParts) {
  const std::string text = to_text(sample());
  const auto problem_with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    return parse_tunings(changed).problem;
  };
  EXPECT_THAT(problem_with("\"machine\"", "\"maschine\""), HasSubstr("there is no machine"));
  EXPECT_THAT(problem_with("\"rounds\": 7", "\"rounds\": 7.5"),
              HasSubstr("rounds: not a whole number from 1 to 1048576"));
  EXPECT_THAT(problem_with("\"rounds\": 7", "\"rounds\": 18446744073709551615"),
              HasSubstr("rounds: not a whole number"));
  EXPECT_THAT(problem_with("\"reference_us\": 3.3", "\"reference_us\": 0"),
              HasSubstr("a time needs the time of the default"));
  EXPECT_THAT(problem_with("\"reference_us\": 3.3", "\"reference_us\": -1"),
              HasSubstr("-1 is not a plausible measurement"));
  EXPECT_THAT(problem_with("\"reference_us\": 3.3", "\"reference_us\": 1e999"),
              HasSubstr("not JSON"));
  EXPECT_THAT(problem_with("threads 256", "threads\\u0007"), HasSubstr("control characters"));
  EXPECT_THAT(problem_with("threads 256", std::string(5000, 'x')),
              HasSubstr("longer than 1000 bytes"));
  EXPECT_THAT(problem_with("its result differs", ""), HasSubstr("either a time or a problem"));
  EXPECT_THAT(problem_with(kernel(2), "kernel"), HasSubstr("64 hexadecimal digits"));
  EXPECT_THAT(problem_with("4611686018427387904", "1"), HasSubstr("the size is listed twice"));
  EXPECT_THAT(parse_tunings(std::string(200000, '[')).problem, HasSubstr("not JSON"));
}

/// Bytes are changed, inserted, removed and repeated. The reader returns timings or an error.
TEST(TuningFile, SurvivesTenThousandMutations) {
  const std::string sound = pack_tuning_file(sample());
  const std::string text = to_text(sample());
  std::mt19937 random(5);
  const auto below = [&](std::size_t most) { return random() % most; };
  const std::string_view pieces[] = {"{",  "}",    "[",   "]",  "\"",    ":",    ",",    "-", "0",
                                     "1e", "null", "9e9", "\\", "\\u00", "true", "\xff", ".", "x"};
  const auto mutate = [&](std::string file) {
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(file.size());
      const std::size_t count = std::min(file.size() - at, 1 + below(40));
      switch (below(5)) {
        case 0: file[at] = static_cast<char>(random()); break;
        case 1: file[at] = static_cast<char>(file[at] ^ (1 << below(8))); break;
        case 2: file.erase(at, count); break;
        case 3: file.insert(at, file.substr(at, count)); break;
        default: file.replace(at, 1, pieces[below(std::size(pieces))]); break;
      }
      if (file.empty()) break;
    }
    return file;
  };
  int refused = 0;
  int meant_something = 0;
  for (int i = 0; i < 10000; ++i) {
    const std::string damaged = mutate(sound);
    const ParsedTunings parsed = unpack_tuning_file(damaged);
    EXPECT_EQ(parsed.tunings.has_value(), damaged == sound);
    EXPECT_NE(parsed.tunings.has_value(), !parsed.problem.empty());
    refused += !parsed.tunings;
    // A mutation with a valid checksum, as an attacker would write it.
    const ParsedTunings repaired = unpack_tuning_file(with_checksum(mutate(text)));
    EXPECT_NE(repaired.tunings.has_value(), !repaired.problem.empty());
    if (!repaired.tunings) continue;
    ++meant_something;
    // Accepted timings round-trip.
    EXPECT_EQ(parse_tunings(to_text(*repaired.tunings)).tunings, repaired.tunings);
  }
  EXPECT_GT(refused, 9900);
  EXPECT_GT(meant_something, 100);
  EXPECT_LT(meant_something, 9000);
}

class TuningStoreTest : public ::testing::Test {
 protected:
  test::ScratchFolder folder;
  CacheOptions options{.directory = folder.path() + "/cache"};
};

TEST_F(TuningStoreTest, SharesTimingsAcrossProcesses) {
  DiskCache disk(options);
  const TunedSize one = size(1, {{candidate(10), timing(1)}});
  const TunedSize two = size(2, {{candidate(10), timing(2)}});
  TuningStore first;
  EXPECT_FALSE(first.was_queried(kernel(1)));
  EXPECT_THAT(first.find(kernel(1), disk).sizes, IsEmpty());
  EXPECT_TRUE(first.was_queried(kernel(1)));
  first.put(kernel(1), one, disk);
  EXPECT_EQ(first.find(kernel(1), disk).sizes, std::vector{one});
  TuningStore second;
  EXPECT_EQ(second.find(kernel(1), disk).sizes, std::vector{one});
  EXPECT_THAT(second.find(kernel(2), disk).sizes, IsEmpty());
  second.put(kernel(1), two, disk);
  EXPECT_EQ(TuningStore().find(kernel(1), disk).sizes, (std::vector{one, two}));
}

TEST_F(TuningStoreTest, WorksWithoutACache) {
  DiskCache disk({.mode = CacheMode::off});
  TuningStore store;
  const TunedSize one = size(1, {{candidate(10), timing(1)}});
  store.put(kernel(1), one, disk);
  EXPECT_EQ(store.find(kernel(1), disk).sizes, std::vector{one});
  EXPECT_EQ(store.all().size(), 1U);
}

TEST_F(TuningStoreTest, ImportedTimingsTakePrecedence) {
  DiskCache disk(options);
  TuningStore store;
  store.put(kernel(1), size(1, {{candidate(10), timing(1)}, {candidate(11), timing(1)}}), disk);
  store.import({{kernel(1), {.sizes = {size(1, {{candidate(10), timing(5)}})}}}});
  EXPECT_EQ(store.find(kernel(1), disk).sizes,
            std::vector{size(1, {{candidate(10), timing(5)}, {candidate(11), timing(1)}})});
}

/// Sizes that were measured or looked up in this process are in use.
TEST_F(TuningStoreTest, ImportedSizesAreEvictedFirst) {
  DiskCache disk({.mode = CacheMode::off});
  TuningStore store;
  for (std::int64_t n = 1; n <= 30; ++n)
    store.put(kernel(1), size(n, {{candidate(10), timing(1)}}), disk);
  KernelTunings imported;
  for (const std::int64_t n : {1, 101, 102, 103})
    imported.sizes.push_back(size(n, {{candidate(10), timing(5)}}));
  store.import({{kernel(1), imported}});
  const KernelTunings known = store.find(kernel(1), disk);
  EXPECT_EQ(known.sizes.size(), kMaxTunedSizes);
  for (std::int64_t n = 1; n <= 30; ++n) {
    const TunedSize* const at_size = known.at(std::vector<std::int64_t>{n, 0});
    ASSERT_TRUE(at_size) << n;
    EXPECT_EQ(at_size->timings.at(candidate(10)).median_us, n == 1 ? 5 : 1);
  }
  EXPECT_FALSE(known.at(std::vector<std::int64_t>{101, 0}));
  EXPECT_TRUE(known.at(std::vector<std::int64_t>{103, 0}));
}

TEST_F(TuningStoreTest, IgnoresDamagedEntries) {
  DiskCache disk(options);
  TuningStore().put(kernel(1), size(1, {{candidate(10), timing(1)}}), disk);
  const CacheName entry = name_of("tunings\n" + kernel(1));
  ASSERT_TRUE(disk.find(entry));
  for (const char* const nonsense :
       {"", "[]", "\xff\xff", R"({"machine": "", "kernels": {"a": 1}})"}) {
    disk.store(entry, bytes_of(nonsense));
    EXPECT_THAT(TuningStore().find(kernel(1), disk).sizes, IsEmpty()) << nonsense;
  }
  TuningStore().put(kernel(1), size(2, {{candidate(10), timing(1)}}), disk);
  EXPECT_EQ(TuningStore().find(kernel(1), disk).sizes.size(), 1U);
}

TEST_F(TuningStoreTest, ConcurrentProcessesLoseNothing) {
  constexpr int kProcesses = 8;
  constexpr int kTimings = 12;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    DiskCache disk(options);
    TuningStore store;
    for (int i = 0; i < kTimings; ++i)
      store.put(kernel(1), size(i % 3, {{candidate(100 * process + i), timing(1)}}), disk);
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  DiskCache disk(options);
  const KernelTunings known = TuningStore().find(kernel(1), disk);
  ASSERT_EQ(known.sizes.size(), 3U);
  for (const TunedSize& at_size : known.sizes)
    EXPECT_EQ(at_size.timings.size(), std::size_t{kProcesses * kTimings / 3});
}

}  // namespace
}  // namespace sinter::tuning_store_test
