// DLPack's table of exchange functions, as in <dlpack/dlpack.h> 1.2.
#pragma once

#include <cstdint>

#include "sinter/dlpack.h"

namespace sinter::python {

struct DlpackExchangeTable {
  dlpack::Version version;
  DlpackExchangeTable* previous;  ///< of an earlier major version; may be null
  int (*allocate)(dlpack::Tensor* prototype, dlpack::ManagedTensorVersioned** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*managed_tensor_of)(void* object, dlpack::ManagedTensorVersioned** out);
  int (*object_of)(dlpack::ManagedTensorVersioned* tensor, void** out);
  int (*tensor_of)(void* object, dlpack::Tensor* out);  ///< may be null
  int (*current_stream)(dlpack::DeviceType type, std::int32_t id, void** out);
};

}  // namespace sinter::python
