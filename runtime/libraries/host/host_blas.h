// HostBlas: the library that multiplies matrices on the host device, opened at run time.
#pragma once

#include <cstdint>
#include <string>

namespace sinter {

/// A product c [m, n] of a [m, k] and b [k, n], row-major. A transposed operand is stored as [k, m]
/// or [n, k]. Strides are the elements between rows in memory.
template <class T>
struct BlasProduct {
  std::int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  const T* b = nullptr;
  T* c = nullptr;
  std::int64_t a_stride = 0, b_stride = 0, c_stride = 0;
  bool transpose_a = false, transpose_b = false;
  bool adds = false;  ///< the products are added to c, which is otherwise overwritten
};

/// Functions of a library, with which each thread multiplies on its own.
class HostBlas {
 public:
  /// `OpenBLAS`, `CBLAS`, `oneDNN` or `loops`
  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }  ///< empty if it is unknown
  const std::string& path() const { return path_; }        ///< empty for loops

  /// True if the library has products of floats, or of doubles. Loops must compute the others.
  bool has(const float*) const { return cblas_sgemm_ || dnnl_sgemm_; }
  bool has(const double*) const { return cblas_dgemm_; }
  /// Throws DriverError if the library fails.
  void multiply(const BlasProduct<float>& product) const;
  void multiply(const BlasProduct<double>& product) const;

 private:
  friend struct HostBlasOrReason open_host_blas(const std::string& choice);
  bool fill_cblas(void* library);
  bool fill_dnnl(void* library);

  template <class T>
  using CblasFunction = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                                 T alpha, const T* a, int a_stride, const T* b, int b_stride,
                                 T beta, T* c, int c_stride);
  using DnnlFunction = int (*)(char transpose_a, char transpose_b, std::int64_t m, std::int64_t n,
                               std::int64_t k, float alpha, const float* a, std::int64_t a_stride,
                               const float* b, std::int64_t b_stride, float beta, float* c,
                               std::int64_t c_stride);

  std::string name_ = "loops";
  std::string version_;
  std::string path_;
  CblasFunction<float> cblas_sgemm_ = nullptr;
  CblasFunction<double> cblas_dgemm_ = nullptr;
  DnnlFunction dnnl_sgemm_ = nullptr;
  void (*set_threads_of_this_thread_)(int) = nullptr;  ///< of OpenMP
};

/// The library, or the reason why there is none.
struct HostBlasOrReason {
  const HostBlas* blas = nullptr;  ///< lives until the process ends
  std::string reason;              ///< one sentence; empty if there is a library
};

/// Opens `choice`: `openblas`, `onednn`, the path of a library with the functions of CBLAS or
/// oneDNN, or `loops`. An empty choice is the first of openblas, onednn and loops that is found.
HostBlasOrReason open_host_blas(const std::string& choice);

/// The library of $SINTER_HOST_BLAS, opened at the first call. Throws UserError if there is none.
const HostBlas& host_blas();
/// The same for `sinter devices`, which prints the reason.
const HostBlasOrReason& find_host_blas();

/// Commands and variables that give the host device a fast BLAS.
inline constexpr const char* kHostBlasAdvice =
    "install libopenblas0-pthread (Debian), or name a library in SINTER_HOST_BLAS";

}  // namespace sinter
