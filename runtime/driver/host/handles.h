// The driver's opaque handles: addresses of objects, looked up at every use.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

namespace sinter::host {

/// The live objects of one kind, by handle.
template <class Handle, class Object>
class Handles {
 public:
  /// The handles of this kind. Never destroyed: threads may use them while the process ends.
  static Handles& all() {
    static auto* const handles = new Handles;
    return *handles;
  }

  Handle add(std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    const auto handle = reinterpret_cast<Handle>(object.get());
    objects_[handle] = std::move(object);
    return handle;
  }
  /// Null if there is no object with this handle.
  std::shared_ptr<Object> find(Handle handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  /// Removes the object and returns it; null if there is none.
  std::shared_ptr<Object> remove(Handle handle) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<Object> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<Handle, std::shared_ptr<Object>> objects_;
};

}  // namespace sinter::host
