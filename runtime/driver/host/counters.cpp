// The counters and the options of the host device.
#include "runtime/driver/host/execution/execute.h"
#include "runtime/driver/host/execution/memory.h"
#include "runtime/driver/host/state.h"

#include <mutex>

namespace sinter::host {
namespace {

struct Shared {
  std::mutex mutex;
  Counters counters;
  Options options;
};

Shared& shared() {
  static auto* const shared = new Shared;
  return *shared;
}

}  // namespace

void update_counters(const std::function<void(Counters&)>& change) {
  const std::lock_guard lock(shared().mutex);
  change(shared().counters);
}

Counters counters() {
  Counters result;
  update_counters([&](const Counters& counters) { result = counters; });
  const MemoryUse use = memory_use();
  result.live_bytes = use.live_bytes;
  result.peak_bytes = use.peak_bytes;
  result.live_allocations = use.allocations;
  return result;
}

void reset_counters() {
  update_counters([](Counters& counters) { counters = {}; });
  reset_calls();
  reset_peak();
}

void configure(const Options& options) {
  {
    const std::lock_guard lock(shared().mutex);
    shared().options = options;
  }
  scheduler().set_seed(options.seed);
  set_workers(options.workers);
}

Options options() {
  const std::lock_guard lock(shared().mutex);
  return shared().options;
}

}  // namespace sinter::host
