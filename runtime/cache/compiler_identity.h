// The identities of the compilers, remembered on disk, so that a process with a warm cache opens no
// NVRTC and runs no host compiler.
#pragma once

#include <string>
#include <string_view>

#include "codegen/prelude/prelude.h"
#include "runtime/cache/disk_cache.h"
#include "runtime/compile/host_compiler.h"

namespace sinter {

/// `Nvrtc::version_text` of the library that `nvrtc()` opens or would open; "" if there is none.
const std::string& nvrtc_identity(DiskCache& disk);

/// False if the opened NVRTC is not the one that `nvrtc_identity` names: the program had another
/// one loaded, or the library is new. Its output must not be stored under that identity. The new
/// identity is remembered for later processes.
bool is_nvrtc_as_remembered(DiskCache& disk);

/// The SHA-256 of the device code that precedes all kernels.
const std::string& prelude_hash(Prelude which);

/// The host compiler of this process. Throws CompileError if there is none.
const HostCompiler& host_compiler(DiskCache& disk);

/// The prelude, compiler and options that turn the text of kernels into machine code, for keys.
std::string host_build_identity(DiskCache& disk, const HostBuild& build);
std::string nvrtc_build_identity(DiskCache& disk, std::string_view arch);

}  // namespace sinter
