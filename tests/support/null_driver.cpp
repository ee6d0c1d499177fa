#include "tests/support/null_driver.h"

#include <atomic>

namespace sinter::test {

namespace {

template <class... Parameters>
CUresult nothing(Parameters...) {
  return CUDA_SUCCESS;
}

CUresult fake_memory(CUdeviceptr* pointer, std::size_t bytes) {
  static std::atomic<CUdeviceptr> next = 1 << 20;
  *pointer = next.fetch_add((bytes + 511) / 256 * 256);
  return CUDA_SUCCESS;
}

}  // namespace

const Driver& null_driver() {
  static const Driver driver = [] {
    Driver table;
#define SYMBOL(NAME, VERSION, NEED, PARAMETERS) table.NAME = nothing;
#include "runtime/driver_symbols.def"
    table.cuMemAlloc = fake_memory;
    table.name = "null";
    return table;
  }();
  return driver;
}

}  // namespace sinter::test
