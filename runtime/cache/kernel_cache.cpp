#include "runtime/cache/kernel_cache.h"

#include <llvm/Support/xxhash.h>

#include <chrono>

#include "runtime/logging/counting.h"

namespace sinter {

Module::Module(const DeviceState& device, const void* image, std::string_view what)
    : device(device) {
  const CurrentContext current(device);
  const CaptureModeGuard relaxed(device.driver);
  const CUresult result =
      device.memory_pool->with_room([&] { return device.driver.cuModuleLoadData(&handle, image); });
  check(device.driver, result, "cuModuleLoadData", what);
}

Module::~Module() {
  const ReleaseContext current(device);
  log_failed_release(device.driver, device.driver.cuModuleUnload(handle), "cuModuleUnload");
}

TextHash hash_of(std::string_view text) {
  const llvm::XXH128_hash_t hash = llvm::xxh3_128bits(
      llvm::ArrayRef(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  return {.low = hash.low64, .high = hash.high64};
}

KernelCache::Claim KernelCache::claim(const UnitKey& key) {
  std::vector<std::shared_future<CompiledUnitPointer>> old;  // unloaded behind the lock
  const std::lock_guard lock(mutex_);
  if (const auto found = units_.find(key); found != units_.end()) {
    ++hits_;
    count(Count::kernel_hits);
    order_.splice(order_.begin(), order_, found->second.place);
    return {.unit = found->second.unit};
  }
  ++misses_;
  count(Count::kernel_misses);
  // A promise whose future was taken and that is destroyed unfulfilled allocates in its destructor,
  // so the future is taken once nothing can throw any more.
  Claim claim{.duty = std::make_shared<std::promise<CompiledUnitPointer>>()};
  old = take_old_ones();
  std::list<UnitKey> place = {key};
  Entry& entry = units_.emplace(key, Entry{.unit = {}, .place = place.begin()}).first->second;
  order_.splice(order_.begin(), place);
  claim.unit = claim.duty->get_future().share();
  entry.unit = claim.unit;
  return claim;
}

std::vector<std::shared_future<CompiledUnitPointer>> KernelCache::take_old_ones() {
  // Those in use are looked at again when as many others have been.
  constexpr int kMostLooks = 16;
  std::vector<std::shared_future<CompiledUnitPointer>> old;
  for (int looks = 0; units_.size() >= most_ && !order_.empty() && looks < kMostLooks; ++looks) {
    const auto oldest = units_.find(order_.back());
    const auto& unit = oldest->second.unit;
    const bool is_made = unit.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    if (!is_made || unit.get().use_count() > 1) {
      order_.splice(order_.begin(), order_, oldest->second.place);
      continue;
    }
    old.push_back(unit);
    order_.pop_back();
    units_.erase(oldest);
    ++evicted_;
    count(Count::kernels_evicted);
  }
  return old;
}

void KernelCache::fulfil(const Claim& claim, CompiledUnitPointer unit) {
  claim.duty->set_value(std::move(unit));
}

void KernelCache::fail(const UnitKey& key, const Claim& claim, std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = units_.find(key); found != units_.end()) {
      order_.erase(found->second.place);
      units_.erase(found);
    }
  }
  claim.duty->set_exception(std::move(error));
}

}  // namespace sinter
