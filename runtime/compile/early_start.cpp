#include "runtime/compile/early_start.h"

#include "runtime/compile/kernel_resources.h"
#include "sinter/error.h"

#include <cstring>

#include <elf.h>

namespace sinter {

bool may_start_early(const Source& source, const CubinReport& code) {
  const bool is_machine_code = code.instructions > 0;
  return source.may_start_early && is_machine_code && code.loads_before_wait == 0;
}

CubinReport read_machine_code(std::span<const std::byte> image, std::string_view entry) {
  if (image.size() < SELFMAG || std::memcmp(image.data(), ELFMAG, SELFMAG) != 0) return {};
  try {
    const KernelResources kernels = read_resources(image, /*log=*/"");
    const auto kernel = kernels.find(entry);
    return kernel == kernels.end() ? CubinReport() : kernel->second;
  } catch (const InternalError&) {  // the driver decides whether it accepts the image
    return {};
  }
}

}  // namespace sinter
