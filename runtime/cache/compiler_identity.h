// The identities of the compilers, remembered on disk, so that a process with a warm cache opens no
// NVRTC and runs no host compiler.
#pragma once

#include <string>
#include <string_view>

#include "codegen/prelude/prelude.h"
#include "runtime/cache/disk_cache.h"
#include "runtime/compile/host_compiler.h"
#include "runtime/compile/nvrtc.h"

namespace sinter {

/// `Nvrtc::version_text` of the library that compiles, as far as is known at the first call: the
/// remembered one, or the one that `nvrtc()` opens. "" if there is none.
const std::string& nvrtc_identity(DiskCache& disk);

/// False if `used` is not the library that `nvrtc_identity` names. The program may have loaded
/// another one, the library may be new, or the driver refused the output of another one. The output
/// of `used` must not be stored under that identity. Later processes remember `used`.
bool is_nvrtc_as_remembered(DiskCache& disk, const Nvrtc& used);

/// The SHA-256 of the device code that precedes all kernels.
const std::string& prelude_hash(Prelude which);

/// The host compiler of this process. Throws CompileError if there is none.
const HostCompiler& host_compiler(DiskCache& disk);

/// The prelude, compiler and options that turn the text of kernels into machine code, for keys.
std::string host_build_identity(DiskCache& disk, const HostBuild& build);
std::string nvrtc_build_identity(DiskCache& disk, std::string_view arch);

}  // namespace sinter
