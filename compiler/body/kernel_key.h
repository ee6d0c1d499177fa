// What a kernel is apart from the arrays that it reads and writes. Programs repeat themselves,
// layer after layer: kernels of equal keys have equal bodies but for the names of their values, so
// that one of them is judged, scheduled and priced for all.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/body/body_request.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// Each node in its order: what it does, and which places of the key it reads. What stands in it is
/// compared, not a digest of it.
using KernelKey = std::vector<std::uint32_t>;

struct KernelKeyHash {
  std::size_t operator()(const KernelKey& key) const;
};

/// Equal for kernels whose keys are, and quickly told: one that no other equals needs no key.
std::uint64_t rough_key_of(const Kernel& kernel);

/// Keys of what is asked of bodies over one graph.
class KernelKeys {
 public:
  explicit KernelKeys(const GraphData& graph);

  /// The key of `request`; it and the places in it are there until the next one is asked for.
  const KernelKey& of(const BodyRequest& request);
  /// The place in the last key of a node that its body may load or compute; -1: none.
  int place(const Node* node) const;
  /// What stands at a place of the last key.
  const Node* node_at(int place) const { return nodes_[static_cast<std::size_t>(place)]; }

 private:
  using Words = std::vector<std::uint64_t>;
  struct WordsHash {
    std::size_t operator()(const Words& words) const;
  };

  int visit(const Node& node, const BodyRequest& request);
  int add(const Node& node);
  std::uint32_t kind_of(const Node& node);
  std::uint32_t load_of(const Node& node, const BodyRequest& request);
  std::uint32_t number_of(const Words& words);

  std::unordered_map<Words, std::uint32_t, WordsHash> numbers_;
  Words words_;
  KernelKey key_;
  std::vector<const Node*> nodes_;  ///< by place in the last key
  // By id of the node.
  std::vector<std::uint32_t> kinds_, loads_;  ///< 0: not known yet
  struct Place {
    std::uint32_t request = 0;  ///< that it is of
    int place = 0;
  };
  std::vector<Place> places_;
  std::uint32_t request_ = 0;
};

/// What is known of keys, by key. So that long programs without repetition do not pile up keys, it
/// begins anew when it has many.
template <class Fact>
class KnownOfKeys {
 public:
  Fact* find(const KernelKey& key) {
    const auto found = facts_.find(key);
    return found == facts_.end() ? nullptr : &found->second;
  }
  Fact& add(const KernelKey& key, Fact fact) {
    constexpr std::size_t kMost = 1024;
    if (facts_.size() >= kMost) facts_.clear();
    return facts_.insert_or_assign(key, std::move(fact)).first->second;
  }

 private:
  std::unordered_map<KernelKey, Fact, KernelKeyHash> facts_;
};

}  // namespace sinter
