// Codes and constants of the CUDA driver API that runtime/driver/cuda_abi.h does not declare, and
// Refusal, by which an entry point ends with a code.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "runtime/driver/cuda_abi.h"

namespace sinter::virtual_gpu::driver {

using namespace sinter::cuda;

inline constexpr auto kErrorDeinitialized = static_cast<CUresult>(4);
inline constexpr auto kErrorNoDevice = static_cast<CUresult>(100);
inline constexpr auto kErrorContextIsDestroyed = static_cast<CUresult>(709);
inline constexpr auto kErrorLossyQuery = static_cast<CUresult>(402);

inline constexpr unsigned kAttributeIgnore = 0;
inline constexpr unsigned kAttributeAccessPolicyWindow = 1;
inline constexpr unsigned kAttributeSynchronizationPolicy = 3;
inline constexpr unsigned kAttributeClusterSchedulingPolicy = 5;
inline constexpr unsigned kAttributePriority = 8;
inline constexpr unsigned kAttributeMemSyncDomainMap = 9;
inline constexpr unsigned kAttributeMemSyncDomain = 10;

/// CU_LAUNCH_PARAM_END, _BUFFER_POINTER and _BUFFER_SIZE: the keys of `extra`.
inline constexpr std::size_t kLaunchParamEnd = 0;
inline constexpr std::size_t kLaunchParamBufferPointer = 1;
inline constexpr std::size_t kLaunchParamBufferSize = 2;

/// CUdriverProcAddressQueryResult.
inline constexpr auto kSymbolNotFound = static_cast<CUdriverProcAddressQueryResult>(1);
inline constexpr auto kVersionNotSufficient = static_cast<CUdriverProcAddressQueryResult>(2);

/// The blocks of a cluster that every GPU with clusters supports, and the most of any.
inline constexpr unsigned kPortableClusterBlocks = 8;
inline constexpr unsigned kMostClusterBlocks = 16;
/// Shared memory of a block without the attribute for more.
inline constexpr int kDefaultSharedBytes = 48 << 10;

/// Ends an entry point with a code. The reason is for the log.
class Refusal : public std::exception {
 public:
  Refusal(CUresult code, std::string reason) : code(code), reason(std::move(reason)) {}
  const char* what() const noexcept override { return reason.c_str(); }
  CUresult code;
  std::string reason;
};

/// Throws Refusal with CUDA_ERROR_INVALID_VALUE unless `is_valid`.
inline void require(bool is_valid, const char* reason) {
  if (!is_valid) throw Refusal(CUDA_ERROR_INVALID_VALUE, reason);
}

}  // namespace sinter::virtual_gpu::driver
