// Stored algorithms: their bytes, and what happens if they are damaged or refused.
#include "runtime/libraries/algorithms/stored_algorithm.h"

#include <algorithm>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::stored_algorithm_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const AlgorithmKey kKey{.library = "cuBLASLt 130100",
                        .device = "NVIDIA H200, sm_90, 132 SMs",
                        .problem = "matmul f32 f32 to f32 m 8 n 8 k 8"};

StoredAlgorithm some_algorithm() {
  StoredAlgorithm algorithm{.workspace_bytes = 4096};
  for (int i = 0; i < 64; ++i) algorithm.data.push_back(static_cast<std::byte>(i * 37));
  return algorithm;
}

TEST(StoredAlgorithm, BytesGiveTheSameAlgorithm) {
  const auto bytes = to_bytes(kKey, some_algorithm());
  const ParsedAlgorithm parsed = parse_algorithm(kKey, bytes);
  EXPECT_EQ(parsed.algorithm, some_algorithm()) << parsed.problem;
  EXPECT_EQ(to_bytes(kKey, *parsed.algorithm), bytes);
}

TEST(StoredAlgorithm, OtherVersionsDevicesAndProblemsDoNotFit) {
  const auto bytes = to_bytes(kKey, some_algorithm());
  for (std::string AlgorithmKey::*const member :
       {&AlgorithmKey::library, &AlgorithmKey::device, &AlgorithmKey::problem}) {
    AlgorithmKey other = kKey;
    other.*member += "0";
    EXPECT_NE(other.text(), kKey.text());
    const ParsedAlgorithm parsed = parse_algorithm(other, bytes);
    EXPECT_FALSE(parsed.algorithm);
    EXPECT_EQ(parsed.problem, "it is of another problem");
  }
}

TEST(StoredAlgorithm, DamagedBytesAreRefused) {
  const auto bytes = to_bytes(kKey, some_algorithm());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const ParsedAlgorithm parsed = parse_algorithm(kKey, std::span(bytes).first(length));
    EXPECT_FALSE(parsed.algorithm) << length;
    EXPECT_THAT(parsed.problem, StartsWith("it is damaged: ")) << length;
  }
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_THAT(parse_algorithm(kKey, longer).problem, StartsWith("it is damaged: "));
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    auto changed = bytes;
    changed[random() % changed.size()] = static_cast<std::byte>(random());
    const ParsedAlgorithm parsed = parse_algorithm(kKey, changed);
    EXPECT_NE(parsed.algorithm.has_value(), !parsed.problem.empty());
  }
}

TEST(StoredAlgorithm, ImplausibleWorkspacesAreRefused) {
  StoredAlgorithm algorithm = some_algorithm();
  algorithm.workspace_bytes = -1;
  EXPECT_EQ(parse_algorithm(kKey, to_bytes(kKey, algorithm)).problem, "its workspace has -1 bytes");
  algorithm.workspace_bytes = std::int64_t{1} << 41;
  EXPECT_EQ(parse_algorithm(kKey, to_bytes(kKey, algorithm)).problem,
            "its workspace has 2199023255552 bytes");
}

/// A store in memory that remembers refusals.
struct MemoryAlgorithms final : AlgorithmStore {
  std::optional<std::vector<std::byte>> find(const AlgorithmKey& key) override {
    const auto found = entries.find(key.text());
    if (found == entries.end()) return std::nullopt;
    return found->second;
  }
  std::vector<std::byte> publish(const AlgorithmKey& key, std::span<const std::byte> bytes,
                                 std::span<const std::byte> refused) override {
    std::vector<std::byte>& entry = entries[key.text()];
    if (entry.empty() || std::ranges::equal(entry, refused))
      entry.assign(bytes.begin(), bytes.end());
    return entry;
  }
  void log_refusal(const AlgorithmKey&, const std::string& why) override {
    refusals.push_back(why);
  }

  std::map<std::string, std::vector<std::byte>> entries;
  std::vector<std::string> refusals;
};

/// A library with two algorithms.
struct FakeLibrary {
  AlgorithmChoice choice() {
    return {.take = [this](const StoredAlgorithm& algorithm) -> std::string {
              if (!refusal.empty()) return refusal;
              taken = algorithm;
              return {};
            },
            .choose = [this]() -> std::optional<StoredAlgorithm> {
              ++questions;
              taken = heuristic;
              if (!can_be_stored) return std::nullopt;
              return heuristic;
            }};
  }
  StoredAlgorithm heuristic = some_algorithm();
  StoredAlgorithm taken;
  std::string refusal;
  bool can_be_stored = true;
  int questions = 0;
};

TEST(TakeOrChoose, AsksTheLibraryOnceForAllProcesses) {
  MemoryAlgorithms store;
  FakeLibrary first;
  take_or_choose(&store, kKey, first.choice());
  EXPECT_EQ(first.questions, 1);
  FakeLibrary later;
  later.heuristic.workspace_bytes = 8192;  // it would choose another one now
  EXPECT_FALSE(take_or_choose(&store, kKey, later.choice()));
  EXPECT_EQ(later.questions, 0);
  EXPECT_EQ(later.taken, first.taken);
}

TEST(TakeOrChoose, ReplacesAnAlgorithmThatTheLibraryRefuses) {
  MemoryAlgorithms store;
  FakeLibrary first;
  take_or_choose(&store, kKey, first.choice());
  FakeLibrary later;
  later.refusal = "CUBLAS_STATUS_NOT_SUPPORTED";
  later.heuristic.workspace_bytes = 8192;
  const auto refused = take_or_choose(&store, kKey, later.choice());
  EXPECT_EQ(later.questions, 1);
  EXPECT_EQ(later.taken.workspace_bytes, 8192);
  EXPECT_THAT(store.refusals, IsEmpty()) << "the caller may hold a lock";
  log_refusal(&store, refused);
  EXPECT_THAT(store.refusals, ElementsAre("CUBLAS_STATUS_NOT_SUPPORTED"));
  log_refusal(nullptr, refused);
  FakeLibrary last;
  take_or_choose(&store, kKey, last.choice());
  EXPECT_EQ(last.taken.workspace_bytes, 8192);
}

TEST(TakeOrChoose, ReplacesADamagedEntry) {
  MemoryAlgorithms store;
  store.entries[kKey.text()] = {std::byte{7}};
  FakeLibrary library;
  log_refusal(&store, take_or_choose(&store, kKey, library.choice()));
  EXPECT_EQ(library.questions, 1);
  EXPECT_THAT(store.refusals, ElementsAre(HasSubstr("it is damaged: ")));
  take_or_choose(&store, kKey, library.choice());
  EXPECT_EQ(library.questions, 1);
}

TEST(TakeOrChoose, TakesTheChoiceThatAnotherProcessStoredFirst) {
  MemoryAlgorithms store;
  FakeLibrary first, second;
  second.heuristic.workspace_bytes = 8192;
  AlgorithmChoice choice = second.choice();
  choice.choose = [&, choose = choice.choose] {
    take_or_choose(&store, kKey, first.choice());  // another process at the same time
    return choose();
  };
  EXPECT_FALSE(take_or_choose(&store, kKey, choice));
  EXPECT_EQ(second.questions, 1);
  EXPECT_EQ(second.taken, first.taken);
  EXPECT_EQ(store.entries.at(kKey.text()), to_bytes(kKey, first.heuristic));
}

TEST(TakeOrChoose, KeepsItsChoiceIfItRefusesThatOfAnotherProcess) {
  MemoryAlgorithms store;
  FakeLibrary first, second;
  second.heuristic.workspace_bytes = 8192;
  AlgorithmChoice choice = second.choice();
  choice.choose = [&, choose = choice.choose] {
    take_or_choose(&store, kKey, first.choice());
    return choose();
  };
  second.refusal = "CUBLAS_STATUS_NOT_SUPPORTED";
  const auto refused = take_or_choose(&store, kKey, choice);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->why, "CUBLAS_STATUS_NOT_SUPPORTED");
  EXPECT_EQ(second.taken, second.heuristic);
}

TEST(TakeOrChoose, WithoutAStoreTheLibraryChooses) {
  FakeLibrary library;
  take_or_choose(nullptr, kKey, library.choice());
  EXPECT_EQ(library.questions, 1);
  EXPECT_EQ(library.taken, library.heuristic);
}

TEST(TakeOrChoose, AChoiceWithoutBytesIsNotStored) {
  MemoryAlgorithms store;
  FakeLibrary library;
  library.can_be_stored = false;
  take_or_choose(&store, kKey, library.choice());
  EXPECT_THAT(store.entries, IsEmpty());
}

}  // namespace
}  // namespace sinter::stored_algorithm_test
