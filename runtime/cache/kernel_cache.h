// The kernel cache in memory: compiled units by everything that decides them, each made once, and
// no more of them than a bound but for those in use.
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

/// A loaded module; unloaded with the last unit in it.
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
};

/// One kernel under each of its candidate schedules.
struct CompiledUnit {
  std::shared_ptr<const Module> module;
  std::vector<CompiledFunction> functions;
  std::vector<CubinReport> cubins;  ///< by NVRTC; on the host device where that was asked for
  std::string ptx;                  ///< by NVRTC; empty where it did not compile the unit
  std::vector<std::byte> image;     ///< the same: a cubin, or PTX for a GPU newer than NVRTC
  double milliseconds = 0;          ///< of the compilation that made it and perhaps others
};

using CompiledUnitPointer = std::shared_ptr<const CompiledUnit>;

/// 128 bits of a text (XXH3): too many for two texts to share them by chance.
struct TextHash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const TextHash&, const TextHash&) = default;
};
TextHash hash_of(std::string_view text);

/// All that decides a unit.
struct UnitKey {
  TextHash settings;
  TextHash code;
  friend bool operator==(const UnitKey&, const UnitKey&) = default;
};

class KernelCache {
 public:
  /// Beyond `most` units, those go that nobody uses and that were asked for longest ago.
  explicit KernelCache(std::size_t most = kMostUnits) : most_(most) {}

  /// Either a unit that is there or being made, or the duty to make it.
  struct Claim {
    std::shared_future<CompiledUnitPointer> unit;
    /// Not null: the caller must fulfil or fail it.
    std::shared_ptr<std::promise<CompiledUnitPointer>> duty;
  };

  Claim claim(const UnitKey& key);
  void fulfil(const Claim& claim, CompiledUnitPointer unit);
  /// Hands `error` to all who wait for the unit and forgets the entry, so that a later claim tries
  /// again.
  void fail(const UnitKey& key, const Claim& claim, std::exception_ptr error);

  std::int64_t hits() const { return hits_; }
  std::int64_t misses() const { return misses_; }
  std::int64_t evicted() const { return evicted_; }

 private:
  /// A kernel under all of its candidate schedules takes some 100 KiB.
  static constexpr std::size_t kMostUnits = 2048;

  struct Hash {
    std::size_t operator()(const UnitKey& key) const { return key.code.low ^ key.settings.high; }
  };
  struct Entry {
    std::shared_future<CompiledUnitPointer> unit;
    std::list<UnitKey>::iterator place;  ///< in `order_`
  };

  /// Takes those out that are too many; whoever gets them unloads them.
  std::vector<std::shared_future<CompiledUnitPointer>> take_old_ones();

  const std::size_t most_;
  std::mutex mutex_;
  std::unordered_map<UnitKey, Entry, Hash> units_;
  std::list<UnitKey> order_;  ///< of `units_`, the latest first
  std::atomic<std::int64_t> hits_ = 0;
  std::atomic<std::int64_t> misses_ = 0;
  std::atomic<std::int64_t> evicted_ = 0;
};

}  // namespace sinter
