// The state of an Executable: its handles, Contexts and threads share it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
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

/// The sizes, alignment and outputs that a new variant must serve, and how it is made.
struct VariantRequest {
  std::vector<std::int64_t> symbols;
  std::int64_t alignment = 16;
  std::vector<bool> unwritten_outputs = {};
  std::string reason;                    ///< why no existing variant serves the request
  bool wants_default_schedules = false;  ///< use the default schedules, regardless of Options::tune
  bool is_in_background = false;         ///< other threads may run the program meanwhile
  bool is_specialized = false;  ///< serve only `symbols`, which the kernels have as numbers
  Cancellation cancellation = {};
};

struct ExecutableState : std::enable_shared_from_this<ExecutableState> {
  ExecutableState(DeviceState& device, Interface interface)
      : device(device), interface(interface) {}

  DeviceState& device;
  const Interface interface;
  Options options;
  std::string target;
  std::shared_ptr<VariantSource> source;  ///< null if it was loaded from a file
  std::string loaded_from;                ///< the file; empty if it was compiled here
  /// Throws UserError if the graph is invalid at these sizes.
  std::function<void(std::span<const std::int64_t> symbols)> check_sizes;
  /// Plans, compiles and tunes.
  std::function<std::shared_ptr<const Variant>(const VariantRequest&)> make_variant;

  /// A variant that serves `need`; makes one if there is none. Checks the sizes first. Only one
  /// calling thread makes a variant at a time; the background thread may make another concurrently.
  std::shared_ptr<const Variant> variant_for(const VariantNeed& need);
  /// True if Options::specialize has an effect.
  /// Not with collectives: ranks would change to other kernels, and other buckets, at other times.
  bool specializes() const {
    return source && !interface.symbols.empty() && interface.groups.empty();
  }
  /// With Options::specialize: makes a variant in the background for exactly these sizes, in which
  /// `variant` serves them until then. Does so once per sizes, for a limited number of them.
  void specialize(const std::shared_ptr<const Variant>& variant, const VariantNeed& need);
  std::vector<std::shared_ptr<const Variant>> variants() const;
  /// Why the background could not replace the provisional `variant`; "" if nothing failed.
  std::string background_problem(const Variant* variant) const;
  void add(std::shared_ptr<const Variant> variant);
  /// Changes whenever a better variant has become ready in the background.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  /// An existing variant that serves `need`; null if there is none.
  std::shared_ptr<const Variant> find(const VariantNeed& need) const;
  std::string why_none(const VariantNeed& need) const;
  /// With `never_stall`: a copy of an existing variant that serves `need`, but was made for less
  /// aligned pointers. Null if there is none.
  std::shared_ptr<const Variant> find_provisional(const VariantNeed& need,
                                                  const VariantRequest& request) const;
  /// Makes a better variant than `current` in the background: one that replaces it if it is
  /// provisional, else one for some of its sizes.
  void improve_in_background(std::shared_ptr<const Variant> current, VariantRequest request);
  void improve(const std::shared_ptr<const Variant>& current, const VariantRequest& request);

  void record_background_problem(const Variant* current, bool specializes,
                                 std::string_view problem) noexcept;

  std::mutex make_mutex_;     ///< held while a calling thread makes a variant
  mutable std::mutex mutex_;  ///< guards the three fields below; held only briefly
  std::vector<std::shared_ptr<const Variant>> variants_;
  std::map<const Variant*, std::string> background_problems_;
  std::set<std::vector<std::int64_t>> specialized_sizes_;  ///< those of `specialize`
  std::atomic<std::uint64_t> generation_ = 0;
};

/// The needs of a run with these arguments.
VariantNeed need_of(const CheckedArguments& bound);

struct BindingsState {
  std::shared_ptr<const ExecutableState> executable;
  std::vector<std::unique_ptr<Array>> arrays;  ///< per slot; null for scalars
  std::vector<Literal> numbers;                ///< per slot
  CheckedArguments bound;
};

}  // namespace sinter
