// What an Executable shares among its handles, Contexts and threads.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/binding/binding.h"
#include "runtime/binding/interface.h"
#include "runtime/device/device_state.h"
#include "runtime/execution/variant.h"
#include "runtime/support/cancellation.h"
#include "sinter/executable.h"

namespace sinter {

struct VariantSource;

/// What a new variant is asked to serve.
struct VariantRequest {
  std::vector<std::int64_t> symbols;
  std::int64_t alignment = 16;
  std::vector<bool> unwritten_outputs = {};
  std::string reason;    ///< why no variant that is there will do
  bool is_soon = false;  ///< the default schedules, whatever the options say of tuning
  /// While the program runs in other threads, perhaps.
  bool is_in_background = false;
  Cancellation cancellation = {};
};

struct ExecutableState : std::enable_shared_from_this<ExecutableState> {
  ExecutableState(DeviceState& device, Interface interface)
      : device(device), interface(interface) {}

  DeviceState& device;
  const Interface interface;
  Options options;
  int recorded_ops = 0;
  std::string target;
  std::shared_ptr<VariantSource> source;  ///< null where it was loaded from a file
  std::string loaded_from;                ///< the file; empty: it was compiled here
  /// Throws UserError where the graph has no meaning at these sizes.
  std::function<void(std::span<const std::int64_t> symbols)> check_sizes;
  /// Plans, compiles and tunes.
  std::function<std::shared_ptr<const Variant>(const VariantRequest&)> make_variant;

  /// A variant that serves `need`, made if there is none. Of those who wait for one, one thread
  /// makes one at a time, and beside it the background.
  std::shared_ptr<const Variant> variant_for(const VariantNeed& need);
  std::vector<std::shared_ptr<const Variant>> variants() const;
  /// Why nothing has come of what a variant stands in for; "" if nothing failed.
  std::string background_problem(const Variant* variant) const;
  void add(std::shared_ptr<const Variant> variant);
  /// Changes whenever a variant has taken the place of one that stood in for it.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  /// One that is there; null if there is none.
  std::shared_ptr<const Variant> find(const VariantNeed& need) const;
  std::string why_none(const VariantNeed& need) const;
  /// With `never_stall`: one that is there and serves `need`, but asks less of pointers than it
  /// could; null if there is none.
  std::shared_ptr<const Variant> stand_in_at_hand(const VariantNeed& need,
                                                  const VariantRequest& request) const;
  /// Has what `stand_in` stands in for made in the background.
  void improve_later(std::shared_ptr<const Variant> stand_in, VariantRequest request);
  void improve(const std::shared_ptr<const Variant>& stand_in, const VariantRequest& request);

  void note_problem(const Variant* stand_in, std::string_view problem) noexcept;

  std::mutex making_;         ///< held while one is made that somebody waits for
  mutable std::mutex mutex_;  ///< of what follows, for moments
  std::vector<std::shared_ptr<const Variant>> variants_;
  std::map<const Variant*, std::string> background_problems_;
  std::atomic<std::uint64_t> generation_ = 0;
};

struct BindingsState {
  std::shared_ptr<const ExecutableState> executable;
  std::vector<std::unique_ptr<Array>> arrays;  ///< per slot; null for scalars
  std::vector<Literal> numbers;                ///< per slot
  Bound bound;
};

}  // namespace sinter
