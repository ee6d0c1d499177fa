// LLVM's hash tables, but whole when there is no memory for them to grow: in LLVM's own, whoever
// destroys such a table reads what is not there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "ir/support/adt.h"

namespace sinter {

/// As llvm::DenseMap. Where memory is wanting std::bad_alloc is thrown, and the table has what it
/// had.
template <class Key, class Value, class Info = llvm::DenseMapInfo<Key>,
          class Bucket = llvm::detail::DenseMapPair<Key, Value>>
class DenseMap
    : public llvm::DenseMapBase<DenseMap<Key, Value, Info, Bucket>, Key, Value, Info, Bucket> {
  using Base = llvm::DenseMapBase<DenseMap, Key, Value, Info, Bucket>;
  friend Base;

 public:
  explicit DenseMap(unsigned reserve = 0) {
    if (reserve) take(Base::getMinBucketToReserveForEntries(reserve));
  }
  DenseMap(const DenseMap& other) : DenseMap(other.size()) {
    // Copied before there is a place for it: what throws there would leave half an entry.
    for (const auto& entry : other) this->try_emplace(entry.getFirst(), Value(entry.getSecond()));
  }
  DenseMap(DenseMap&& other) noexcept : Base() { swap(other); }
  template <std::input_iterator Iterator>
  DenseMap(const Iterator& begin, const Iterator& end)
      : DenseMap(static_cast<unsigned>(std::distance(begin, end))) {
    this->insert(begin, end);
  }
  DenseMap(std::initializer_list<typename Base::value_type> entries)
      : DenseMap(entries.begin(), entries.end()) {}
  ~DenseMap() { give_back(); }

  DenseMap& operator=(const DenseMap& other) {
    DenseMap copy(other);
    swap(copy);
    return *this;
  }
  DenseMap& operator=(DenseMap&& other) noexcept {
    DenseMap taken(std::move(other));
    swap(taken);
    return *this;
  }
  void swap(DenseMap& other) noexcept {
    this->incrementEpoch();
    other.incrementEpoch();
    std::swap(buckets_, other.buckets_);
    std::swap(entries_, other.entries_);
    std::swap(tombstones_, other.tombstones_);
    std::swap(bucket_count_, other.bucket_count_);
  }

 private:
  // What LLVM's part asks for, under its names.
  unsigned getNumEntries() const { return entries_; }
  void setNumEntries(unsigned number) { entries_ = number; }
  unsigned getNumTombstones() const { return tombstones_; }
  void setNumTombstones(unsigned number) { tombstones_ = number; }
  Bucket* getBuckets() const { return buckets_; }
  unsigned getNumBuckets() const { return bucket_count_; }

  void grow(unsigned at_least) {
    Bucket* const old = buckets_;
    const unsigned old_count = bucket_count_;
    take(std::max(64U, static_cast<unsigned>(llvm::NextPowerOf2(at_least - 1))));
    if (!old) return;
    this->moveFromOldBuckets(old, old + old_count);
    free(old, old_count);
  }
  /// Of a table that was much larger: what comes next is given its own size.
  void shrink_and_clear() { give_back(); }

  /// Takes memory first, and only then changes anything.
  void take(unsigned count) {
    buckets_ = static_cast<Bucket*>(llvm::allocate_buffer(sizeof(Bucket) * count, alignof(Bucket)));
    bucket_count_ = count;
    this->initEmpty();
  }
  void give_back() {
    this->destroyAll();
    free(buckets_, bucket_count_);
    buckets_ = nullptr;
    entries_ = tombstones_ = bucket_count_ = 0;
  }
  static void free(Bucket* buckets, unsigned count) {
    llvm::deallocate_buffer(buckets, sizeof(Bucket) * count, alignof(Bucket));
  }

  Bucket* buckets_ = nullptr;
  unsigned entries_ = 0;
  unsigned tombstones_ = 0;
  unsigned bucket_count_ = 0;
};

/// As llvm::DenseSet, in the same way.
template <class Value, class Info = llvm::DenseMapInfo<Value>>
class DenseSet
    : public llvm::detail::DenseSetImpl<
          Value,
          DenseMap<Value, llvm::detail::DenseSetEmpty, Info, llvm::detail::DenseSetPair<Value>>,
          Info> {
  using Base = llvm::detail::DenseSetImpl<
      Value, DenseMap<Value, llvm::detail::DenseSetEmpty, Info, llvm::detail::DenseSetPair<Value>>,
      Info>;

 public:
  using Base::Base;
};

}  // namespace sinter
