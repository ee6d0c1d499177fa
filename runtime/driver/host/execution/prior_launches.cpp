#include "runtime/driver/host/execution/prior_launches.h"

#include "runtime/driver/host/execution/execute.h"

#include <exception>
#include <thread>

namespace sinter::host {

bool PriorLaunches::wait() noexcept {
  std::call_once(once_, [this] {
    const auto run_all = [this]() noexcept {
      use_second_pool();
      try {
        failure_ = run_();
      } catch (const std::exception&) {
        failure_ = {cuda::CUDA_ERROR_OUT_OF_MEMORY, "out of memory"};  // short: no allocation
      }
    };
    try {
      std::thread(run_all).join();
    } catch (const std::exception&) {  // no thread can be started
      failure_ = {cuda::CUDA_ERROR_OUT_OF_MEMORY, "out of memory"};
    }
  });
  return failure_.code == cuda::CUDA_SUCCESS;
}

}  // namespace sinter::host
