#include "runtime/cache/kernel_cache.h"

#include <fmt/format.h>
#include <llvm/Support/xxhash.h>

#include <chrono>

#include "runtime/logging/counting.h"

namespace sinter {

Module::Module(const DeviceState& device, const void* image, std::string_view what)
    : device(device) {
  const CurrentContext current(device);
  const CaptureModeGuard relaxed(device.driver);
  const CUresult result = device.memory_pool->retry_after_trim(
      [&] { return device.driver.cuModuleLoadData(&handle, image); });
  check(device.driver, result, "cuModuleLoadData", what);
}

Module::~Module() {
  const CurrentContextNoThrow current(device);
  log_failed_release(device.driver, device.driver.cuModuleUnload(handle), "cuModuleUnload");
}

std::string TextHash::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

TextHash hash_of(std::string_view text) {
  const llvm::XXH128_hash_t hash = llvm::xxh3_128bits(
      llvm::ArrayRef(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  return {.low = hash.low64, .high = hash.high64};
}

KernelCache::Claim KernelCache::claim(const UnitKey& key) {
  std::vector<std::shared_future<CompiledUnitPointer>> old;  // unloaded after the lock is released
  const std::lock_guard lock(mutex_);
  if (const auto found = units_.find(key); found != units_.end()) {
    ++hits_;
    count(Count::kernel_hits);
    order_.splice(order_.begin(), order_, found->second.position);
    return {.key = key, .unit = found->second.unit};
  }
  ++misses_;
  count(Count::kernel_misses);
  // An unfulfilled promise allocates in its destructor if its future was taken. So the future is
  // taken last, when nothing can throw any more.
  Claim claim{.key = key, .promise = std::make_shared<std::promise<CompiledUnitPointer>>()};
  old = evict();
  std::list<UnitKey> node = {key};
  Entry& entry = units_.emplace(key, Entry{.unit = {}, .position = node.begin()}).first->second;
  order_.splice(order_.begin(), node);
  claim.unit = claim.promise->get_future().share();
  entry.unit = claim.unit;
  return claim;
}

std::vector<std::shared_future<CompiledUnitPointer>> KernelCache::evict() {
  // Units in use move to the front, and are looked at again after all others.
  constexpr int kMaxLooks = 16;
  std::vector<std::shared_future<CompiledUnitPointer>> old;
  for (int looks = 0; units_.size() >= max_ && !order_.empty() && looks < kMaxLooks; ++looks) {
    const auto oldest = units_.find(order_.back());
    const auto& unit = oldest->second.unit;
    const bool is_made = unit.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    if (!is_made || unit.get().use_count() > 1) {
      order_.splice(order_.begin(), order_, oldest->second.position);
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
  claim.promise->set_value(std::move(unit));
}

void KernelCache::fail(const Claim& claim, std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = units_.find(claim.key); found != units_.end()) {
      order_.erase(found->second.position);
      units_.erase(found);
    }
  }
  claim.promise->set_exception(std::move(error));
}

}  // namespace sinter
