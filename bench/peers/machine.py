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


def virtual_gpu_name():
    """The name of the first GPU if it is the virtual GPU of tests/virtual_gpu, else ''. It interprets kernels, so its
    times mean nothing. The driver itself is asked, since peers name devices in different ways."""
    name = ctypes.create_string_buffer(256)
    device = ctypes.c_int()
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        if driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), 0) or driver.cuDeviceGetName(name, 256, device):
            return ""
    except (OSError, AttributeError):
        return ""
    text = name.value.decode(errors="replace")
    return text if text.startswith("virtual GPU") else ""
