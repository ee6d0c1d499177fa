#include "tests/virtual_gpu/driver/faults.h"

namespace sinter::virtual_gpu::driver {

CUresult Faults::count(std::string_view function) {
  auto known = calls_.find(function);
  if (known == calls_.end()) known = calls_.emplace(function, 0).first;
  const int call = ++known->second;
  for (const Fault& one : faults_)
    if (one.function == function && one.call == call) return static_cast<CUresult>(one.code);
  return CUDA_SUCCESS;
}

void Faults::clear() {
  faults_.clear();
  calls_.clear();
}

int Faults::calls(std::string_view function) const {
  const auto known = calls_.find(function);
  return known == calls_.end() ? 0 : known->second;
}

bool ends_context(CUresult code) {
  switch (static_cast<unsigned>(code)) {
    case 226:  // CONTAINED
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case 702:  // LAUNCH_TIMEOUT
    case 714:  // HARDWARE_STACK_ERROR
    case 715:  // ILLEGAL_INSTRUCTION
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case 717:  // INVALID_ADDRESS_SPACE
    case 718:  // INVALID_PC
    case CUDA_ERROR_LAUNCH_FAILED:
    case 911:  // EXTERNAL_DEVICE
      return true;
    default: return false;
  }
}

}  // namespace sinter::virtual_gpu::driver
