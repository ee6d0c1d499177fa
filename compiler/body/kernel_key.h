// Structural keys of kernels, independent of the arrays that they access. Programs repeat layers,
// and kernels with equal keys have equal bodies up to value names. One of them is therefore
// evaluated, scheduled and costed for all.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/body/body_request.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// For each node in order: its kind, and the positions in the key that it reads. Keys hold the full
/// content, not a digest of it.
using KernelKey = std::vector<std::uint32_t>;

/// Hashes keys and other lists of words.
struct WordsHash {
  template <class Word>
  std::size_t operator()(const std::vector<Word>& words) const {
    std::uint64_t hash = words.size();
    for (const Word word : words) {
      hash = (hash ^ word) * 0xff51afd7ed558ccdULL;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

/// Append extents, positions and conditions to keys that consist of 64-bit words.
inline void append_words(std::vector<std::uint64_t>& key, Extent extent) {
  key.push_back(static_cast<std::uint64_t>(extent.number()));
  key.push_back(reinterpret_cast<std::uintptr_t>(extent.expression()));
}
inline void append_words(std::vector<std::uint64_t>& key, const Index& index) {
  append_words(key, index.constant);
  key.push_back(index.terms.size());
  for (const IndexTerm& term : index.terms) {
    key.push_back(static_cast<std::uint64_t>(term.atom->id));
    append_words(key, term.coefficient);
  }
}
inline void append_words(std::vector<std::uint64_t>& key,
                         const std::vector<Condition>& conditions) {
  for (const Condition& condition : conditions) {
    append_words(key, condition.at);
    append_words(key, condition.begin);
    append_words(key, condition.end);
  }
}

/// A cheap hash, equal for kernels with equal keys. A kernel with a unique hash needs no key.
std::uint64_t kernel_hash(const Kernel& kernel);

/// Computes keys of body requests over one graph.
class KernelKeys {
 public:
  explicit KernelKeys(const GraphData& graph);

  /// The key of `request`. It and its positions are valid until the next call.
  const KernelKey& of(const BodyRequest& request);
  /// The position in the last key of a node that its body may load or compute; -1: none.
  int position(const Node* node) const;
  /// The node at a position of the last key.
  const Node* node_at(int position) const { return nodes_[static_cast<std::size_t>(position)]; }

 private:
  using Words = std::vector<std::uint64_t>;

  int visit(const Node& node, const BodyRequest& request);
  int add(const Node& node);
  std::uint32_t kind_of(const Node& node);
  std::uint32_t load_of(const Node& node, const BodyRequest& request);
  std::uint32_t number_of(const Words& words);

  std::unordered_map<Words, std::uint32_t, WordsHash> numbers_;
  Words words_;
  KernelKey key_;
  std::vector<const Node*> nodes_;  ///< by position in the last key
  // By node id.
  std::vector<std::uint32_t> kinds_, loads_;  ///< 0: not known yet
  struct Position {
    std::uint32_t request = 0;  ///< the request that `position` belongs to
    int position = 0;
  };
  std::vector<Position> positions_;
  std::uint32_t request_ = 0;
};

/// A map from keys to facts about them. It is cleared when it grows large, so that long programs
/// without repetition do not accumulate keys.
template <class Fact>
class KernelKeyMap {
 public:
  Fact* find(const KernelKey& key) {
    const auto found = facts_.find(key);
    return found == facts_.end() ? nullptr : &found->second;
  }
  Fact& add(const KernelKey& key, Fact fact) {
    constexpr std::size_t kMaxKeys = 1024;
    if (facts_.size() >= kMaxKeys) facts_.clear();
    return facts_.insert_or_assign(key, std::move(fact)).first->second;
  }

 private:
  std::unordered_map<KernelKey, Fact, WordsHash> facts_;
};

}  // namespace sinter
