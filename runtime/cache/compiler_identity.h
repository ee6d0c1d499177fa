// What the compilers call themselves, remembered on disk: a process that finds all its kernels
// there opens no NVRTC and runs no host compiler.
#pragma once

#include <string>

#include "codegen/prelude/prelude.h"
#include "runtime/cache/disk_cache.h"
#include "runtime/compile/host_compiler.h"

namespace sinter {

/// `Nvrtc::version_text` of what `nvrtc()` opens or would open; "" where there is no NVRTC.
const std::string& nvrtc_identity(DiskCache& disk);

/// False if the NVRTC that was opened is another one than `nvrtc_identity` says: the program had
/// one loaded already, or there is a new one. What it makes must not be stored under that name;
/// later processes know better.
bool is_nvrtc_as_remembered(DiskCache& disk);

/// Of the device code in front of all kernels.
const std::string& prelude_hash(Prelude which);

/// The host compiler of this process. Throws CompileError where there is none.
const HostCompiler& host_compiler(DiskCache& disk);

}  // namespace sinter
