// CudnnDescriptor: owns one descriptor of cuDNN's backend API.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "runtime/libraries/cuda/cudnn.h"

namespace sinter {

/// Attributes are set one by one, then the descriptor is finalized. All calls throw DriverError.
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(const Cudnn& library) : library_(library) {}
  CudnnDescriptor(const Cudnn& library, cudnn::cudnnBackendDescriptorType_t type)
      : library_(library) {
    library_.check(library_.table.cudnnBackendCreateDescriptor(type, &handle_),
                   "cudnnBackendCreateDescriptor");
  }
  CudnnDescriptor(CudnnDescriptor&& other) noexcept
      : library_(other.library_), handle_(std::exchange(other.handle_, nullptr)) {}
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CudnnDescriptor() {
    if (handle_) library_.table.cudnnBackendDestroyDescriptor(handle_);
  }

  cudnn::cudnnBackendDescriptor_t handle() const { return handle_; }

  void set(cudnn::cudnnBackendAttributeName_t name, cudnn::cudnnBackendAttributeType_t type,
           std::int64_t count, const void* values) {
    library_.check(library_.table.cudnnBackendSetAttribute(handle_, name, type, count, values),
                   "cudnnBackendSetAttribute");
  }
  void set(cudnn::cudnnBackendAttributeName_t name, std::span<const std::int64_t> values) {
    set(name, cudnn::CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
  }
  void set(cudnn::cudnnBackendAttributeName_t name, std::int64_t value) {
    set(name, cudnn::CUDNN_TYPE_INT64, 1, &value);
  }
  void set(cudnn::cudnnBackendAttributeName_t name, cudnn::cudnnDataType_t value) {
    set(name, cudnn::CUDNN_TYPE_DATA_TYPE, 1, &value);
  }
  void set(cudnn::cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
    set(name, cudnn::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.handle_);
  }
  void set(cudnn::cudnnBackendAttributeName_t name, cudnn::cudnnHandle_t value) {
    set(name, cudnn::CUDNN_TYPE_HANDLE, 1, &value);
  }

  /// Its status instead of an exception, because an unsupported engine is no failure.
  cudnn::cudnnStatus_t try_finalize() { return library_.table.cudnnBackendFinalize(handle_); }
  void finalize() { library_.check(try_finalize(), "cudnnBackendFinalize"); }

 private:
  const Cudnn& library_;
  cudnn::cudnnBackendDescriptor_t handle_ = nullptr;
};

}  // namespace sinter
