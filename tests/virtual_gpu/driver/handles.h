// HandleTable: the handles of the driver, by kind. It tells null, unknown, destroyed and wrong
// handles apart.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "tests/virtual_gpu/driver/result.h"

namespace sinter::virtual_gpu::driver {

enum class HandleKind : std::uint8_t {
  context,
  stream,
  event,
  module,
  function,
  graph,
  node,
  exec,
  user_object
};

inline std::string_view name_of(HandleKind kind) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "a context",    "a stream", "an event",     "a module",
      "a function",   "a graph",  "a graph node", "an executable graph",
      "a user object"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// An object type `T` has `static constexpr HandleKind kKind` and a field `void* handle`.
class HandleTable {
 public:
  /// Gives the object a handle that no other object has or had.
  template <class T>
  void add(const std::shared_ptr<T>& object) {
    object->handle = reinterpret_cast<void*>(next_ += kStep);
    entries_[object->handle] = {.kind = T::kKind, .object = object};
  }

  /// Throws Refusal with `code` if the handle is none of a live object of the kind.
  template <class T>
  std::shared_ptr<T> find(const void* handle, CUresult code) const {
    if (!handle) refuse(code, handle, "is null", T::kKind);
    const auto entry = entries_.find(handle);
    if (entry == entries_.end()) refuse(code, handle, "is no handle", T::kKind);
    if (entry->second.kind != T::kKind)
      refuse(code, handle, fmt::format("is {}", name_of(entry->second.kind)), T::kKind);
    if (!entry->second.object) refuse(code, handle, "was destroyed", T::kKind);
    return std::static_pointer_cast<T>(entry->second.object);
  }

  /// True if the handle is one of a destroyed object.
  bool was_destroyed(const void* handle) const {
    const auto entry = entries_.find(handle);
    return entry != entries_.end() && !entry->second.object;
  }

  /// Later uses of the handle are refused. The object lives while others hold it.
  void remove(const void* handle) {
    const auto entry = entries_.find(handle);
    if (entry == entries_.end()) return;
    const std::shared_ptr<void> last = std::move(entry->second.object);  // may remove more handles
    entry->second.object = nullptr;
  }

  /// The number of live objects of the kind.
  std::size_t live(HandleKind kind) const {
    return static_cast<std::size_t>(std::ranges::count_if(entries_, [&](const auto& entry) {
      return entry.second.kind == kind && entry.second.object;
    }));
  }

 private:
  struct Entry {
    HandleKind kind = HandleKind::context;
    std::shared_ptr<void> object;
  };

  [[noreturn]] static void refuse(CUresult code, const void* handle, std::string_view problem,
                                  HandleKind wanted) {
    throw Refusal(code,
                  fmt::format("the handle {} {}; it must be {}", handle, problem, name_of(wanted)));
  }

  /// Handles are addresses that no program can access, so that nothing is mistaken for one.
  static constexpr std::uintptr_t kStep = 64;
  std::uintptr_t next_ = std::uintptr_t{0x5AFE} << 48;
  std::unordered_map<const void*, Entry> entries_;
};

}  // namespace sinter::virtual_gpu::driver
