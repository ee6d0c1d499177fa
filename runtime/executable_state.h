// What an Executable shares among its handles, Contexts and threads.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/binding.h"
#include "runtime/device_state.h"
#include "runtime/interface.h"
#include "runtime/variant.h"
#include "sinter/executable.h"

namespace sinter {

struct VariantSource;

/// What a new variant is asked to serve.
struct VariantRequest {
  std::vector<std::int64_t> symbols;
  std::int64_t alignment = 16;
  std::vector<bool> left_out = {};
  std::string reason;  ///< why no variant that is there will do
};

struct ExecutableState {
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

  /// A variant that serves `need`, made if there is none. One thread makes one at a time.
  std::shared_ptr<const Variant> variant_for(const VariantNeed& need);
  std::vector<std::shared_ptr<const Variant>> variants() const;
  void add(std::shared_ptr<const Variant> variant);

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const Variant>> variants_;
};

struct BindingsState {
  std::shared_ptr<const ExecutableState> executable;
  std::vector<std::unique_ptr<Array>> arrays;  ///< per slot; null for scalars
  std::vector<Literal> numbers;                ///< per slot
  Bound bound;
};

}  // namespace sinter
