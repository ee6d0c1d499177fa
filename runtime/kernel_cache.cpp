#include "runtime/kernel_cache.h"

#include <llvm/Support/xxhash.h>

#include "runtime/counting.h"

namespace sinter {

Module::Module(const DeviceState& device, const void* image, std::string_view what)
    : device(device) {
  const CurrentContext current(device);
  check(device.driver, device.driver.cuModuleLoadData(&handle, image), "cuModuleLoadData", what);
}

Module::~Module() {
  const ReleaseContext current(device);
  log_failed_release(device.driver, device.driver.cuModuleUnload(handle), "cuModuleUnload");
}

std::size_t KernelCache::Hash::operator()(const std::string& key) const {
  return llvm::xxh3_64bits(llvm::StringRef(key));
}

KernelCache::Claim KernelCache::claim(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = units_.find(key); found != units_.end()) {
    ++hits_;
    count(Count::kernel_hits);
    return {.unit = found->second};
  }
  ++misses_;
  count(Count::kernel_misses);
  Claim claim{.duty = std::make_shared<std::promise<CompiledUnitPointer>>()};
  claim.unit = claim.duty->get_future().share();
  units_.emplace(key, claim.unit);
  return claim;
}

void KernelCache::fulfil(const Claim& claim, CompiledUnitPointer unit) {
  claim.duty->set_value(std::move(unit));
}

void KernelCache::fail(const std::string& key, const Claim& claim, std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    units_.erase(key);
  }
  claim.duty->set_exception(std::move(error));
}

}  // namespace sinter
