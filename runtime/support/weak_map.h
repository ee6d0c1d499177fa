// Things that others keep, by key: entries of those that are gone do not pile up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>

namespace sinter {

template <class Key, class Value>
class WeakMap {
 public:
  /// Null if it was never put here, or is gone.
  std::shared_ptr<Value> find(const Key& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : found->second.lock();
  }

  void put(const Key& key, const std::shared_ptr<Value>& value) {
    // Each sweep is paid for by as many entries as it leaves.
    if (entries_.size() >= sweep_at_) {
      std::erase_if(entries_, [](const auto& entry) { return entry.second.expired(); });
      sweep_at_ = std::max(kFewest, 2 * entries_.size());
    }
    entries_[key] = value;
  }

  /// Entries, also of what is gone and not yet swept.
  std::size_t size() const { return entries_.size(); }

 private:
  static constexpr std::size_t kFewest = 64;

  std::map<Key, std::weak_ptr<Value>> entries_;
  std::size_t sweep_at_ = kFewest;
};

}  // namespace sinter
