// The kernel cache in memory: compiled units by a key of everything that decides them. Each unit is
// made once. The number of unused units is bounded.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/device/device_state.h"
#include "sinter/report.h"

namespace sinter {

/// A loaded module. The last unit that uses it unloads it.
struct Module {
  Module(const DeviceState& device, const void* image, std::string_view what);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const DeviceState& device;
  CUmodule handle = nullptr;
};

struct CompiledFunction {
  CUfunction handle = nullptr;
  int registers = 0;    ///< per thread; 0 on the host device
  int spill_bytes = 0;  ///< per thread
  /// Stream launches may begin before earlier work of the stream has ended.
  bool starts_early = false;
};

/// One kernel under each of its candidate schedules.
struct CompiledUnit {
  std::shared_ptr<const Module> module;
  std::vector<CompiledFunction> functions;
  std::vector<CubinReport> cubins;  ///< of NVRTC; on the host device only with `also_nvrtc`
  std::string ptx;                  ///< of NVRTC; empty if it did not compile the unit
  std::vector<std::byte> image;     ///< of NVRTC: a cubin, or PTX for a GPU newer than NVRTC
  double milliseconds = 0;          ///< of the compiler run, which may have made other units too
};

using CompiledUnitPointer = std::shared_ptr<const CompiledUnit>;

/// 128 bits of a text (XXH3): enough to rule out chance collisions.
struct TextHash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  std::string hex() const;  ///< 32 digits, the high half first
  friend bool operator==(const TextHash&, const TextHash&) = default;
};
TextHash hash_of(std::string_view text);

/// The key of a unit: compiler settings and code.
struct UnitKey {
  TextHash settings;
  TextHash code;
  friend bool operator==(const UnitKey&, const UnitKey&) = default;
};

class KernelCache {
 public:
  /// Beyond `max` units, the least recently claimed ones that no variant uses are dropped.
  explicit KernelCache(std::size_t max = kMaxUnits) : max_(max) {}

  /// A unit that exists or is being made.
  struct Claim {
    UnitKey key;
    std::shared_future<CompiledUnitPointer> unit = {};
    /// If not null, the caller makes the unit, and must call `fulfil` or `fail`.
    std::shared_ptr<std::promise<CompiledUnitPointer>> promise = {};
  };

  Claim claim(const UnitKey& key);
  void fulfil(const Claim& claim, CompiledUnitPointer unit);
  /// Passes `error` to all waiting callers and removes the entry, so that a later claim retries.
  void fail(const Claim& claim, std::exception_ptr error);

  std::int64_t hits() const { return hits_; }
  std::int64_t misses() const { return misses_; }
  std::int64_t evicted() const { return evicted_; }

 private:
  /// A kernel under all of its candidate schedules takes about 100 KiB.
  static constexpr std::size_t kMaxUnits = 2048;

  struct Hash {
    std::size_t operator()(const UnitKey& key) const { return key.code.low ^ key.settings.high; }
  };
  struct Entry {
    std::shared_future<CompiledUnitPointer> unit;
    std::list<UnitKey>::iterator position;  ///< in `order_`
  };

  /// Removes excess units. The caller unloads them by destroying the result.
  std::vector<std::shared_future<CompiledUnitPointer>> evict();

  const std::size_t max_;
  std::mutex mutex_;
  std::unordered_map<UnitKey, Entry, Hash> units_;
  std::list<UnitKey> order_;  ///< of `units_`, most recently claimed first
  std::atomic<std::int64_t> hits_ = 0;
  std::atomic<std::int64_t> misses_ = 0;
  std::atomic<std::int64_t> evicted_ = 0;
};

}  // namespace sinter
