// OneDnn: the library that convolves on the host device, opened at run time.
#pragma once

#include <string>

#include "runtime/libraries/onednn/onednn_abi.h"

namespace sinter {

namespace dnnl {
/// The entry points that sinter uses, with oneDNN's names. Those of one version are null in the
/// other one.
struct Table {
#define SYMBOL(RESULT, NAME, PARAMETERS) RESULT(*NAME) PARAMETERS = nullptr;
#define SYMBOL2 SYMBOL
#define SYMBOL3 SYMBOL
#include "runtime/libraries/onednn/onednn_symbols.def"
};
}  // namespace dnnl

struct OneDnn {
  dnnl::Table table;
  dnnl::dnnl_engine_t engine = nullptr;  ///< the CPU
  int major = 0, minor = 0, patch = 0;
  std::string path;

  std::string version_text() const;  ///< `2.6.3`
  /// Throws DriverError if the call failed.
  void check(dnnl::dnnl_status_t status, const char* call) const;

  int (*omp_get_max_threads)() = nullptr;  ///< null if the library uses one thread
  void (*omp_set_num_threads)(int) = nullptr;
};

/// While it exists, the library computes on the calling thread alone, because sinter divides
/// convolutions itself. Restores the thread's setting afterwards.
class OneDnnThread {
 public:
  explicit OneDnnThread(const OneDnn& library);
  ~OneDnnThread();
  OneDnnThread(const OneDnnThread&) = delete;
  OneDnnThread& operator=(const OneDnnThread&) = delete;

 private:
  const OneDnn& library_;
  int threads_ = 1;
};

/// The library, or the reason why there is none.
struct OneDnnOrReason {
  const OneDnn* library = nullptr;  ///< lives until the process ends
  std::string reason;               ///< one sentence; empty if a user turned it off
  bool is_error = false;            ///< a user asked for a library that cannot be used
};

/// Opens `choice`: `onednn`, the path of a library, or `products` for none. An empty choice is
/// onednn if it is found.
OneDnnOrReason open_onednn(const std::string& choice);

/// The library of $SINTER_HOST_CONV, opened at the first call.
const OneDnnOrReason& find_onednn();
/// The same; null if products compute convolutions. Throws UserError if a user asked for a library
/// that cannot be used.
const OneDnn* host_onednn();

/// Commands and variables that give the host device oneDNN.
inline constexpr const char* kOneDnnAdvice =
    "install libdnnl2 (Debian 12) or libdnnl3 (Debian 13), or name a library in SINTER_HOST_CONV";

}  // namespace sinter
