#include "runtime/libraries/algorithms/stored_algorithm.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "runtime/support/archive.h"

namespace sinter {

namespace {

/// More than any algorithm needs; a damaged size must not plan an arena of petabytes.
constexpr std::int64_t kMostStoredWorkspace = std::int64_t{1} << 40;

struct AlgorithmEntry {
  std::string key;
  std::int64_t workspace_bytes = 0;
  std::vector<std::byte> data;
};

template <class Archive, SameOrConst<AlgorithmEntry> Entry>
void fields(Archive& archive, Entry& entry) {
  archive(entry.key, entry.workspace_bytes, entry.data);
}

}  // namespace

std::string AlgorithmKey::text() const {
  return fmt::format("{}\n{}\n{}", library, device, problem);
}

std::vector<std::byte> to_bytes(const AlgorithmKey& key, const StoredAlgorithm& algorithm) {
  ArchiveWriter writer;
  writer(AlgorithmEntry{
      .key = key.text(), .workspace_bytes = algorithm.workspace_bytes, .data = algorithm.data});
  const std::vector<std::byte> entry = writer.take();
  std::vector<std::byte> bytes(kAlgorithmMark.size() + entry.size());
  std::memcpy(bytes.data(), kAlgorithmMark.data(), kAlgorithmMark.size());
  std::ranges::copy(entry, bytes.begin() + kAlgorithmMark.size());
  return bytes;
}

ParsedAlgorithm parse_algorithm(const AlgorithmKey& key, std::span<const std::byte> bytes) {
  const auto mark = std::as_bytes(std::span(kAlgorithmMark));
  if (bytes.size() < mark.size() || !std::ranges::equal(bytes.first(mark.size()), mark))
    return {.problem = "it is damaged: it has another mark or format"};
  AlgorithmEntry entry;
  try {
    ArchiveReader reader(bytes.subspan(mark.size()));
    reader(entry);
    reader.finish();
  } catch (const InvalidData& invalid) {
    return {.problem = fmt::format("it is damaged: {}", invalid.what)};
  }
  if (entry.key != key.text()) return {.problem = "it is of another problem"};
  if (entry.workspace_bytes < 0 || entry.workspace_bytes > kMostStoredWorkspace)
    return {.problem = fmt::format("its workspace has {} bytes", entry.workspace_bytes)};
  return {.algorithm = StoredAlgorithm{.workspace_bytes = entry.workspace_bytes,
                                       .data = std::move(entry.data)}};
}

std::optional<RefusedAlgorithm> take_or_choose(AlgorithmStore* store, const AlgorithmKey& key,
                                               const AlgorithmChoice& choice) {
  // Returns why stored bytes cannot be used; empty: the algorithm was taken.
  const auto take = [&](std::span<const std::byte> bytes) {
    const ParsedAlgorithm parsed = parse_algorithm(key, bytes);
    return parsed.algorithm ? choice.take(*parsed.algorithm) : parsed.problem;
  };
  std::optional<RefusedAlgorithm> refused;
  std::vector<std::byte> refused_bytes;
  if (store)
    if (auto bytes = store->find(key)) {
      const std::string refusal = take(*bytes);
      if (refusal.empty()) return {};
      refused = {.key = key, .why = refusal};
      refused_bytes = std::move(*bytes);
    }
  const std::optional<StoredAlgorithm> chosen = choice.choose();
  if (!store || !chosen) return refused;
  const std::vector<std::byte> own = to_bytes(key, *chosen);
  const std::vector<std::byte> first = store->publish(key, own, refused_bytes);
  if (first == own) return refused;
  if (const std::string refusal = take(first); !refusal.empty())
    refused = {.key = key, .why = refusal};  // by the library, which keeps its own choice
  return refused;
}

void log_refusal(AlgorithmStore* store, const std::optional<RefusedAlgorithm>& refused) {
  if (store && refused) store->log_refusal(refused->key, refused->why);
}

}  // namespace sinter
