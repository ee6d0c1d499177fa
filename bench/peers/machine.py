"""Facts about the GPU from NVML and nvidia-smi."""

import ctypes
import subprocess


class Nvml:
    """The clocks and the driver version. Without NVML, clocks are None and the version is ''."""

    def __init__(self):
        self.device = ctypes.c_void_p()
        try:
            self.library = ctypes.CDLL("libnvidia-ml.so.1")
            if self.library.nvmlInit_v2() or self.library.nvmlDeviceGetHandleByIndex_v2(
                    0, ctypes.byref(self.device)):
                self.library = None
        except OSError:
            self.library = None

    def mhz(self, kind):
        value = ctypes.c_uint()
        if self.library is None or self.library.nvmlDeviceGetClockInfo(self.device, kind, ctypes.byref(value)):
            return None
        return value.value

    def driver(self):
        text = ctypes.create_string_buffer(96)
        if self.library is None or self.library.nvmlSystemGetDriverVersion(text, 96):
            return ""
        return text.value.decode()


def gpu_name():
    try:
        return subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader", "-i", "0"], text=True,
                              capture_output=True, timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
