// One unit on its way through the compile service.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "runtime/compile_service.h"

namespace sinter {

/// A unit that a call must make, because the kernel cache in memory has not got it.
struct CompileService::Job {
  const CompileUnit* unit = nullptr;
  UnitKey key;
  KernelCache::Claim claim;
  std::shared_ptr<CompiledUnit> made = std::make_shared<CompiledUnit>();
  bool is_compiled = false;  ///< by this call, at least in part
  std::exception_ptr error;
  std::exception_ptr cubin_error;
  // What is missing yet, by what it is called on disk: what the host compiler makes, and NVRTC.
  std::optional<CacheName> host = {};
  std::optional<CacheName> cubin = {};
};

}  // namespace sinter
