#include "runtime/libraries/library_functions.h"

#include <mutex>

#include "ir/record/opaque.h"
#include "runtime/collectives/collective_function.h"
#include "runtime/libraries/conv_function.h"
#include "runtime/libraries/matmul_function.h"

namespace sinter {

void register_library_functions() {
  static std::once_flag registered;
  std::call_once(registered, [] {
    register_collective_functions();
    register_library_function("matmul", matmul_function());
    register_library_function("conv", conv_function(ConvKind::forward));
    register_library_function("conv_data_gradient", conv_function(ConvKind::data_gradient));
    register_library_function("conv_weight_gradient",
                              conv_function(ConvKind::weight_gradient));
  });
}

}  // namespace sinter
