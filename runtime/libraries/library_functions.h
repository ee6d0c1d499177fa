// The functions behind library ops: matmul, conv and its gradients, and collectives.
#pragma once

namespace sinter {

/// Registers the functions, once per process. Opens no library.
void register_library_functions();

}  // namespace sinter
