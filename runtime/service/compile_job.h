// One unit on its way through the compile service.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "runtime/service/compile_service.h"

namespace sinter {

/// A unit that a call must make, because the kernel cache in memory has not got it.
struct CompileService::Job {
  const CompileUnit* unit = nullptr;
  UnitKey key;
  KernelCache::Claim claim;
  std::shared_ptr<CompiledUnit> made = std::make_shared<CompiledUnit>();
  // By this call. Both compilers may be at it, each in a thread of its own.
  bool is_host_compiled = false;
  bool is_cubin_compiled = false;
  std::exception_ptr error;
  std::exception_ptr cubin_error;
  // What is missing yet, by what it is called on disk: what the host compiler makes, and NVRTC.
  std::optional<CacheName> host = {};
  std::optional<CacheName> cubin = {};
};

}  // namespace sinter
