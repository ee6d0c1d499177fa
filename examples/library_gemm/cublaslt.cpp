#include "cublaslt.h"

#include <dlfcn.h>

#include <stdexcept>

namespace cublaslt {

namespace {

// From NVIDIA's documentation of cuBLASLt, so that the example builds without its headers.
using Handle = struct cublasLtContext*;
using Opaque = struct Described*;  // descriptors of matrices, operations and preferences
struct Algorithm {
  std::uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};
constexpr int kCompute32F = 68;        // CUBLAS_COMPUTE_32F
constexpr int kReal32F = 0;            // CUDA_R_32F
constexpr int kReal16BF = 14;          // CUDA_R_16BF
constexpr int kMaxWorkspaceBytes = 1;  // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
constexpr int kNotSupported = 15;      // CUBLAS_STATUS_NOT_SUPPORTED

struct Library {
  int (*create)(Handle*) = nullptr;
  int (*create_operation)(Opaque*, int compute, int scale) = nullptr;
  int (*destroy_operation)(Opaque) = nullptr;
  int (*create_layout)(Opaque*, int type, std::uint64_t rows, std::uint64_t columns,
                       std::int64_t leading) = nullptr;
  int (*destroy_layout)(Opaque) = nullptr;
  int (*create_preference)(Opaque*) = nullptr;
  int (*set_preference)(Opaque, int attribute, const void* value, std::size_t bytes) = nullptr;
  int (*destroy_preference)(Opaque) = nullptr;
  int (*find)(Handle, Opaque operation, Opaque a, Opaque b, Opaque c, Opaque d, Opaque preference,
              int wanted, Heuristic*, int* found) = nullptr;
  int (*multiply)(Handle, Opaque operation, const void* alpha, const void* a, Opaque a_layout,
                  const void* b, Opaque b_layout, const void* beta, const void* c, Opaque c_layout,
                  void* d, Opaque d_layout, const Algorithm*, void* workspace, std::size_t bytes,
                  void* stream) = nullptr;
  std::string why_missing;
};

Library open() {
  Library library;
  void* file = nullptr;
  for (const char* const name : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"})
    if (!file) file = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!file) {
    library.why_missing = std::string("cuBLASLt cannot be opened (") + dlerror() +
                          "); install it with the CUDA toolkit, or set LD_LIBRARY_PATH";
    return library;
  }
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(file, name));
    if (!function) library.why_missing = std::string("cuBLASLt has no ") + name;
  };
  find(library.create, "cublasLtCreate");
  find(library.create_operation, "cublasLtMatmulDescCreate");
  find(library.destroy_operation, "cublasLtMatmulDescDestroy");
  find(library.create_layout, "cublasLtMatrixLayoutCreate");
  find(library.destroy_layout, "cublasLtMatrixLayoutDestroy");
  find(library.create_preference, "cublasLtMatmulPreferenceCreate");
  find(library.set_preference, "cublasLtMatmulPreferenceSetAttribute");
  find(library.destroy_preference, "cublasLtMatmulPreferenceDestroy");
  find(library.find, "cublasLtMatmulAlgoGetHeuristic");
  find(library.multiply, "cublasLtMatmul");
  return library;
}

const Library& library() {
  static const Library library = open();
  return library;
}

/// Owns a descriptor.
struct Descriptor {
  int (*destroy)(Opaque);
  Opaque value = nullptr;
  explicit Descriptor(int (*destroy)(Opaque)) : destroy(destroy) {}
  ~Descriptor() {
    if (value) destroy(value);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

int make_handle(Handle& handle) {
  static Handle made = nullptr;
  static const int status = library().create(&made);
  handle = made;
  return status;
}

}  // namespace

std::string why_missing() { return library().why_missing; }

int multiply(const Product& product) {
  const Library& lt = library();
  if (!lt.why_missing.empty()) throw std::runtime_error(lt.why_missing);
  const auto m = static_cast<std::uint64_t>(product.m);
  const auto k = static_cast<std::uint64_t>(product.k);
  const auto n = static_cast<std::uint64_t>(product.n);
  const auto bytes = static_cast<std::size_t>(product.workspace_bytes);
  Handle handle = nullptr;
  Descriptor operation(lt.destroy_operation), preference(lt.destroy_preference);
  Descriptor x(lt.destroy_layout), w(lt.destroy_layout), y(lt.destroy_layout);
  int status = make_handle(handle);
  if (!status) status = lt.create_operation(&operation.value, kCompute32F, kReal32F);
  // The library's matrices are column-major. Our row-major matrices are transposed for it, so it
  // computes yᵀ = wᵀ xᵀ.
  if (!status) status = lt.create_layout(&x.value, kReal16BF, k, m, product.k);
  if (!status) status = lt.create_layout(&w.value, kReal16BF, n, k, product.n);
  if (!status) status = lt.create_layout(&y.value, kReal16BF, n, m, product.n);
  if (!status) status = lt.create_preference(&preference.value);
  if (!status)
    status = lt.set_preference(preference.value, kMaxWorkspaceBytes, &bytes, sizeof(bytes));
  Heuristic best{};
  int found = 0;
  if (!status)
    status = lt.find(handle, operation.value, w.value, x.value, y.value, y.value, preference.value,
                     1, &best, &found);
  if (!status && found == 0) status = kNotSupported;
  const float alpha = 1, beta = 0;
  if (!status)
    status = lt.multiply(handle, operation.value, &alpha, product.w, w.value, product.x, x.value,
                         &beta, product.y, y.value, product.y, y.value, &best.algorithm,
                         product.workspace, bytes, product.stream);
  return status;
}

}  // namespace cublaslt
