// C functions for Arrays and DLPack, which dlpack.py calls through ctypes. They return null or
// false on failure, and last_error() gives the reason.
#include "sinter/sinter.h"

#include <dlfcn.h>

#include <cstring>
#include <exception>
#include <span>
#include <string>

#include "runtime/driver/host/host_driver.h"

namespace sinter {
namespace {

std::string error;

template <class Call>
auto caught(Call call) -> decltype(call()) {
  try {
    error.clear();
    return call();
  } catch (const std::exception& failure) {
    error = failure.what();
    return {};
  }
}

DType dtype_called(std::string_view text) {
  for (const DTypeInfo& row : kDTypes)
    if (row.name == text) return row.dtype;
  throw UserError("there is no dtype " + std::string(text));
}

std::span<const std::int64_t> sizes(int rank, const std::int64_t* numbers) {
  return {numbers, numbers ? static_cast<std::size_t>(rank) : 0};
}

void release(void* tensor, bool is_versioned) {
  if (is_versioned) {
    auto* const versioned = static_cast<dlpack::ManagedTensorVersioned*>(tensor);
    return versioned->deleter(versioned);
  }
  auto* const plain = static_cast<dlpack::ManagedTensor*>(tensor);
  plain->deleter(plain);
}

/// A function of the Python process that loaded this module.
template <class Function>
Function* python(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace
}  // namespace sinter

using namespace sinter;

extern "C" {

const char* last_error() { return error.c_str(); }

std::uint64_t live_bytes() { return host::counters().live_bytes; }

Array* array_empty(const char* dtype, int rank, const std::int64_t* shape) {
  return caught(
      [&] { return new Array(host_device().empty(dtype_called(dtype), sizes(rank, shape))); });
}

Array* array_view(const Array* array, std::int64_t byte_offset, int rank, const std::int64_t* shape,
                  const std::int64_t* strides) {
  return caught([&] {
    return new Array(
        array->view(byte_offset, array->dtype(), sizes(rank, shape), sizes(rank, strides)));
  });
}

Array* array_read_only(const Array* array) {
  return caught([&] { return new Array(array->read_only()); });
}

void array_free(Array* array) { delete array; }

bool array_is_read_only(const Array* array) { return array->is_read_only(); }

const char* array_dtype(const Array* array) { return name(array->dtype()).data(); }

/// Queues a copy and does not wait for it.
bool array_upload(const Array* array, const void* from) {
  static const Stream& stream = *new Stream(host_device().stream());
  return caught([&] {
    host_device().upload(*array, from, stream);
    return true;
  });
}

/// The elements in row-major order.
bool array_download(const Array* array, void* to) {
  return caught([&] {
    const Stream stream = host_device().stream();
    host_device().download(*array, to, stream);
    stream.synchronize();
    return true;
  });
}

/// Runs y = x + x on f32 vectors.
bool run_doubling(const Array* x, const Array* y) {
  return caught([&] {
    Graph graph("doubling");
    const Tensor input = graph.input("x", f32, {graph.extent("n")});
    graph.output("y", input + input);
    Context context = compile(graph, host_device(), {.tune = Tune::off}).context();
    const Stream stream = host_device().stream();
    context.run(stream, {{"x", *x}}, {{"y", *y}});
    stream.synchronize();
    return true;
  });
}

void* export_array(const Array* array, bool is_versioned) {
  return caught([&]() -> void* {
    if (is_versioned) return to_dlpack(*array);
    return to_dlpack_unversioned(*array);
  });
}

Array* import_tensor(void* tensor, bool is_versioned) {
  return caught([&] {
    return new Array(is_versioned
                         ? from_dlpack(static_cast<dlpack::ManagedTensorVersioned*>(tensor))
                         : from_dlpack(static_cast<dlpack::ManagedTensor*>(tensor)));
  });
}

/// Destructor for PyCapsule_New: releases the tensor if it was not consumed.
void release_capsule(void* capsule) {
  static auto* const is_valid = python<int(void*, const char*)>("PyCapsule_IsValid");
  static auto* const pointer = python<void*(void*, const char*)>("PyCapsule_GetPointer");
  for (const char* name : {"dltensor", "dltensor_versioned"})
    if (is_valid(capsule, name))
      release(pointer(capsule, name), std::strcmp(name, "dltensor") != 0);
}

}  // extern "C"
