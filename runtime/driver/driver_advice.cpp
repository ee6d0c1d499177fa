#include "runtime/driver/driver_advice.h"

#include <algorithm>
#include <iterator>

namespace sinter {

namespace {

struct Advice {
  unsigned code;
  std::string_view text;
};

/// Rules of stream captures, which the host device has too.
constexpr Advice kOfCaptures[] = {
    {402,
     "; the stream waits only for part of a kernel (programmatic dependent launch): put an empty "
     "kernel, or a wait for an ordinary event, before this"},
    {900, "; a stream is being captured: do this before the capture begins or after it ends"},
    {901, "; an earlier error made the capture invalid: end it and begin a new one"},
    {902,
     "; a capture can wait only for its own work: wait for other work before the capture begins"},
    {903, "; end the capture on the stream on which it began"},
    {904, "; join the streams of the capture with events before it ends"},
    {905,
     "; a capture can wait only for its own work: wait for other work before the capture begins"},
    {906,
     "; the default stream waits for a stream that is being captured: use another stream than the "
     "default stream"},
    {907,
     "; the event was recorded in a capture, which runs nothing: wait for the stream that its CUDA "
     "Graph is launched on"},
    {908, "; end the capture on the thread on which it began"},
};

constexpr std::string_view kOfObjects =
    "; a stream, an array or a context of another library may be invalid or destroyed; if there "
    "is none, report this as an error of sinter";
constexpr std::string_view kOfEnds =
    "; the driver does not run in this process, or has ended: use devices between the start and "
    "the end of main";
constexpr std::string_view kOfForks =
    "; if this process was forked after CUDA had started in its parent, CUDA does not work here; "
    "start CUDA only in the child, or start a new program (exec, or the start method spawn)";
constexpr std::string_view kOfMissingDevices =
    "; see if nvidia-smi lists the device, and if CUDA_VISIBLE_DEVICES hides it";
constexpr std::string_view kOfCode =
    "; the driver does not accept the kernel's code: update the NVIDIA driver, or set SINTER_NVRTC "
    "to a library that is not newer than the driver";
constexpr std::string_view kOfHardware =
    "; the hardware has failed: see nvidia-smi -q and the log of the operating system (dmesg)";
constexpr std::string_view kOfLostDevices =
    "; a kernel or copy has failed, and the device is lost for this process: every later call "
    "fails, so end the process and start it again; compute-sanitizer finds the cause";
constexpr std::string_view kOfServices = "; see if the MPS server of this machine runs";
constexpr std::string_view kOther =
    "; the CUDA driver API explains the code under CUresult, and the log of the operating system "
    "(dmesg) may have a message of NVRM";

constexpr Advice kOfGpus[] = {
    {1, kOfObjects},
    {2, "; other programs may hold memory of the device (nvidia-smi lists them)"},
    {3, kOfForks},
    {4, kOfEnds},
    {34, "; the file is the stub of the CUDA toolkit: remove its folder from LD_LIBRARY_PATH"},
    {36, "; update the NVIDIA driver"},
    {46,
     "; another process uses the device alone: end that process, or allow several with "
     "nvidia-smi -c DEFAULT"},
    {100, kOfMissingDevices},
    {101, kOfMissingDevices},
    {200, kOfCode},
    {201, kOfObjects},
    {209, kOfCode},
    {214, kOfHardware},
    {218, kOfCode},
    {220, kOfHardware},
    {221,
     "; the driver compiles PTX with libnvidia-ptxjitcompiler.so.1: install that library, or use "
     "machine code (options.ptx off, and an NVRTC that knows the GPU)"},
    {222, kOfCode},
    {223,
     "; the driver may not compile PTX: unset CUDA_DISABLE_PTX_JIT, or use machine code "
     "(options.ptx off, and an NVRTC that knows the GPU)"},
    {226, kOfLostDevices},
    {400, kOfObjects},
    {700, kOfLostDevices},
    {701,
     "; the device has fewer registers or less shared memory than the kernel needs: report "
     "this as an error of sinter"},
    {702, kOfLostDevices},
    {709, kOfObjects},
    {710, kOfLostDevices},
    {714, kOfLostDevices},
    {715, kOfLostDevices},
    {716, kOfLostDevices},
    {717, kOfLostDevices},
    {718, kOfLostDevices},
    {719, kOfLostDevices},
    {720, "; other programs leave too few SMs of the device for the kernel's grid (MPS limits)"},
    {800, "; a function that CUDA calls on a stream must not use CUDA or sinter"},
    {801, "; the driver or the device does not support this: update the NVIDIA driver"},
    {802, "; the driver has not started yet: start nvidia-fabricmanager, or try again later"},
    {803,
     "; libcuda.so.1 does not have the version of the kernel module: restart the machine after "
     "the update of the driver"},
    {804,
     "; the device does not support forward compatibility: remove the folder of cuda-compat "
     "from LD_LIBRARY_PATH, or update the NVIDIA driver"},
    {805, kOfServices},
    {806, kOfServices},
    {807, kOfServices},
    {808, kOfServices},
    {809, kOfServices},
    {911, kOfLostDevices},
};

}  // namespace

std::string_view advice_on(cuda::CUresult result, bool is_host) {
  const auto code = static_cast<unsigned>(result);
  const auto* const shared = std::ranges::find(kOfCaptures, code, &Advice::code);
  if (shared != std::end(kOfCaptures)) return shared->text;
  if (is_host) return {};
  const auto* const found = std::ranges::find(kOfGpus, code, &Advice::code);
  return found == std::end(kOfGpus) ? kOther : found->text;
}

bool loses_device(cuda::CUresult result) {
  return advice_on(result, /*is_host=*/false).data() == kOfLostDevices.data();
}

}  // namespace sinter
