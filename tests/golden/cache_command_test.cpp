// The cache's commands over a cache whose entries were used at known times.
#include "tests/support/files/command.h"
#include "tests/support/files/scratch_folder.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sinter::test::cache_command_test {
namespace {

namespace fs = std::filesystem;

/// Three entries, used an hour, 30 hours and 80 hours ago.
class CacheCommand : public testing::Test {
 protected:
  static constexpr std::int64_t kHours[] = {1, 30, 80};

  void SetUp() override {
    if (command_path().empty()) GTEST_SKIP() << "this build has no command";
    std::ofstream(folder_.path() + "/one.sinter")
        << "graph one(x: f32[8]) {\n  y = exp x\n  return y\n}\n";
    say("run one.sinter --device host");
    std::vector<fs::path> entries;
    for (const fs::directory_entry& file : fs::recursive_directory_iterator(cache_))
      if (file.path().extension() == ".entry") entries.push_back(file.path());
    std::ranges::sort(entries);
    ASSERT_EQ(entries.size(), std::size(kHours));
    for (std::size_t i = 0; i < entries.size(); ++i) {
      // An entry's key begins with the name of its folder. All files of an entry count.
      keys_.push_back(entries[i].parent_path().filename().string() + entries[i].stem().string());
      for (const char* ending : {".entry", ".cu"}) {
        const fs::path file = fs::path(entries[i]).replace_extension(ending);
        if (fs::exists(file))
          fs::last_write_time(file,
                              fs::file_time_type::clock::now() - std::chrono::hours(kHours[i]));
      }
    }
  }

  std::string say(const std::string& words) const {
    const CommandResult result = run_command(
        "export SINTER_CACHE=read_write SINTER_CACHE_DIR='" + cache_ + "'; sinter " + words,
        folder_.path());
    EXPECT_EQ(result.exit_code, 0) << words << "\n" << result.output;
    return result.output;
  }
  std::vector<std::string> listed_keys() const {
    std::vector<std::string> keys;
    for (const nlohmann::json& entry : nlohmann::json::parse(say("cache ls --json")))
      keys.push_back(entry["key"]);
    return keys;
  }

  ScratchFolder folder_;
  std::string cache_ = folder_.path() + "/cache";
  std::vector<std::string> keys_;  ///< the latest used first
};

TEST_F(CacheCommand, ListsTheMostRecentlyUsedFirst) {
  EXPECT_EQ(listed_keys(), keys_);
  const auto json = nlohmann::json::parse(say("cache ls --json"));
  const std::string text = say("cache ls");
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    EXPECT_NEAR(json[i]["age_seconds"].get<double>(), static_cast<double>(kHours[i]) * 3600, 600);
    const std::size_t found = text.find(keys_[i].substr(0, 16));
    ASSERT_NE(found, text.npos) << text;
    EXPECT_EQ(std::ranges::count(text.substr(0, found), '\n'), static_cast<std::ptrdiff_t>(i));
  }
  for (const char* age : {" 60 min ", " 30 h ", " 3 days "})
    EXPECT_NE(text.find(age), text.npos) << text;
}

TEST_F(CacheCommand, CountsTheListedEntries) {
  const auto list = nlohmann::json::parse(say("cache ls --json"));
  const auto stats = nlohmann::json::parse(say("cache stats --json"));
  std::int64_t bytes = 0;
  for (const nlohmann::json& entry : list) {
    const auto& kind = stats["kinds"][entry["kind"].get<std::string>()];
    EXPECT_EQ(kind["entries"], 1) << entry["kind"];
    EXPECT_EQ(kind["bytes"], entry["bytes"]) << entry["kind"];
    bytes += entry["bytes"].get<std::int64_t>();
  }
  EXPECT_EQ(stats["all"]["entries"], 3);
  EXPECT_EQ(stats["all"]["bytes"], bytes);
  EXPECT_EQ(stats["kinds"]["damaged"]["entries"], 0);
  EXPECT_EQ(stats["directory"], cache_);
}

TEST_F(CacheCommand, PrunesOldEntries) {
  EXPECT_EQ(say("cache prune --age 4"), "removed 0 entries, 0 B\n");
  EXPECT_TRUE(say("cache prune --age 2").starts_with("removed 1 entry, "));
  EXPECT_EQ(listed_keys(), std::vector(keys_.begin(), keys_.begin() + 2));
  EXPECT_TRUE(say("cache prune --age 0.5").starts_with("removed 1 entry, "));
  EXPECT_EQ(listed_keys(), std::vector(keys_.begin(), keys_.begin() + 1));
}

TEST_F(CacheCommand, PrunesTheLeastRecentlyUsedUntilTheRestFits) {
  const auto list = nlohmann::json::parse(say("cache ls --json"));
  const std::int64_t two =
      list[0]["bytes"].get<std::int64_t>() + list[1]["bytes"].get<std::int64_t>();
  say(fmt::format("cache prune --bytes {}", two + list[2]["bytes"].get<std::int64_t>()));
  EXPECT_EQ(listed_keys(), keys_);
  say(fmt::format("cache prune --bytes {}", two));
  EXPECT_EQ(listed_keys(), std::vector(keys_.begin(), keys_.begin() + 2));
  say("cache clear --yes");
  EXPECT_EQ(say("cache ls"), "the disk cache is empty\n");
}

}  // namespace
}  // namespace sinter::test::cache_command_test
