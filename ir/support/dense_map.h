// LLVM's hash tables with exception safety: a table stays valid if it cannot get memory to grow.
// The destructor of LLVM's own tables then reads buckets that do not exist.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "ir/support/adt.h"

namespace sinter {

/// Like llvm::DenseMap. If there is no memory to grow, it throws std::bad_alloc and stays
/// unchanged.
template <class Key, class Value, class Info = llvm::DenseMapInfo<Key>,
          class Bucket = llvm::detail::DenseMapPair<Key, Value>>
class DenseMap
    : public llvm::DenseMapBase<DenseMap<Key, Value, Info, Bucket>, Key, Value, Info, Bucket> {
  using Base = llvm::DenseMapBase<DenseMap, Key, Value, Info, Bucket>;
  friend Base;

 public:
  explicit DenseMap(unsigned reserve = 0) {
    if (reserve) allocate_buckets(Base::getMinBucketToReserveForEntries(reserve));
  }
  DenseMap(const DenseMap& other) : DenseMap(other.size()) {
    // Values are copied before they are inserted: an exception during insertion would leave half an
    // entry.
    for (const auto& entry : other) this->try_emplace(entry.getFirst(), Value(entry.getSecond()));
  }
  DenseMap(DenseMap&& other) noexcept : Base() { swap(other); }
  ~DenseMap() { free_buckets(); }

  DenseMap& operator=(const DenseMap& other) {
    DenseMap copy(other);
    swap(copy);
    return *this;
  }
  DenseMap& operator=(DenseMap&& other) noexcept {
    DenseMap moved(std::move(other));
    swap(moved);
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
  // The functions that DenseMapBase calls, with LLVM's names.
  unsigned getNumEntries() const { return entries_; }
  void setNumEntries(unsigned number) { entries_ = number; }
  unsigned getNumTombstones() const { return tombstones_; }
  void setNumTombstones(unsigned number) { tombstones_ = number; }
  Bucket* getBuckets() const { return buckets_; }
  unsigned getNumBuckets() const { return bucket_count_; }

  void grow(unsigned at_least) {
    Bucket* const old = buckets_;
    const unsigned old_count = bucket_count_;
    allocate_buckets(std::max(64U, static_cast<unsigned>(llvm::NextPowerOf2(at_least - 1))));
    if (!old) return;
    this->moveFromOldBuckets(old, old + old_count);
    free(old, old_count);
  }
  /// DenseMapBase clears a sparse table with it. Frees all buckets; the next insertion allocates
  /// new ones.
  void shrink_and_clear() { free_buckets(); }

  /// Allocates before it changes a member, so that an exception leaves the table unchanged.
  void allocate_buckets(unsigned count) {
    buckets_ = static_cast<Bucket*>(llvm::allocate_buffer(sizeof(Bucket) * count, alignof(Bucket)));
    bucket_count_ = count;
    this->initEmpty();
  }
  void free_buckets() {
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

/// Like llvm::DenseSet, with the exception safety of DenseMap.
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
