// Entry points: start, devices, contexts.
#include <algorithm>
#include <cstring>

#include "tests/virtual_gpu/driver/attributes.h"
#include "tests/virtual_gpu/driver/capture.h"
#include "tests/virtual_gpu/driver/entry/arguments.h"
#include "tests/virtual_gpu/driver/submission.h"

namespace sinter::virtual_gpu::driver {

namespace {

Device& find_device(const Call& call, CUdevice device) {
  if (device < 0 || static_cast<std::size_t>(device) >= call.machine.devices.size())
    throw Refusal(CUDA_ERROR_INVALID_DEVICE, "there is no such device");
  return *call.machine.devices[static_cast<std::size_t>(device)];
}

/// Ends the primary context. Its memory stays; that is a difference from a real GPU.
void release_context(Call& call, Device& device) {
  if (device.retained == 0)
    throw Refusal(CUDA_ERROR_INVALID_CONTEXT, "the primary context is not retained");
  if (--device.retained > 0) return;
  const std::shared_ptr<ContextObject> context = device.primary;
  call.machine.executor.wait(call.lock, pending_work(*context).tasks);
  device.primary = nullptr;
  std::erase(call.machine.contexts, context.get());
  call.machine.handles.remove(context->handle);
  // Tasks and streams refer to their context.
  static auto& ended = *new std::vector<std::shared_ptr<ContextObject>>;
  ended.push_back(context);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

CUresult cuInit(unsigned flags) {
  Machine& machine = Machine::get();
  if (const CUresult code = check_thread(machine); code != CUDA_SUCCESS) return code;
  const ApiLock lock(machine);
  try {
    if (const CUresult code = machine.faults.count("cuInit"); code != CUDA_SUCCESS) return code;
    return flags == 0 ? machine.initialize() : CUDA_ERROR_INVALID_VALUE;
  } catch (...) {
    return code_of_exception(machine, "cuInit");
  }
}

CUresult cuDriverGetVersion(int* version) {
  Machine& machine = Machine::get();
  const ApiLock lock(machine);
  if (const CUresult code = machine.faults.count("cuDriverGetVersion"); code != CUDA_SUCCESS)
    return code;
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  *version = machine.configuration.driver_version;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  return enter("cuDeviceGetCount", Needs::initialization, [&](Call& call) {
    require(count, "count is null");
    *count = static_cast<int>(call.machine.devices.size());
  });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return enter("cuDeviceGet", Needs::initialization, [&](Call& call) {
    require(device, "device is null");
    *device = find_device(call, ordinal).ordinal;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return enter("cuDeviceGetName", Needs::initialization, [&](Call& call) {
    require(name && length > 0, "there is no place for the name");
    const GpuModel& model = *find_model(find_device(call, device).description.capability);
    const std::string text = fmt::format("virtual GPU {} (sm_{})", model.name, model.capability);
    std::memset(name, 0, static_cast<std::size_t>(length));
    text.copy(name, static_cast<std::size_t>(length) - 1);
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return enter("cuDeviceGetAttribute", Needs::initialization, [&](Call& call) {
    require(value, "value is null");
    const Device& found = find_device(call, device);
    const std::optional<int> result =
        device_attribute(found.description, found.ordinal, static_cast<unsigned>(attribute));
    if (!result)
      throw Refusal(CUDA_ERROR_INVALID_VALUE,
                    fmt::format("attribute {} is not modelled", static_cast<unsigned>(attribute)));
    *value = *result;
  });
}

CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
  return enter("cuDeviceTotalMem", Needs::initialization, [&](Call& call) {
    require(bytes, "bytes is null");
    *bytes = find_device(call, device).memory_bytes;
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return enter("cuDevicePrimaryCtxRetain", Needs::initialization, [&](Call& call) {
    require(context, "context is null");
    Device& found = find_device(call, device);
    if (!found.primary) {
      check_unsafe(call.machine);
      found.primary = call.machine.make_context(found);
    }
    ++found.retained;
    *context = as<CUcontext>(found.primary->handle);
  });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return enter("cuDevicePrimaryCtxRelease", Needs::initialization,
               [&](Call& call) { release_context(call, find_device(call, device)); });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return enter("cuCtxSetCurrent", Needs::initialization, [&](Call& call) {
    if (context) call.machine.handles.find<ContextObject>(context, CUDA_ERROR_INVALID_CONTEXT);
    this_thread().context = context;
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return enter("cuCtxGetCurrent", Needs::initialization, [&](Call&) {
    require(context, "context is null");
    *context = this_thread().context;
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return enter("cuCtxGetDevice", Needs::context, [&](Call& call) {
    require(device, "device is null");
    *device = call.context->device->ordinal;
  });
}

CUresult cuCtxSynchronize() {
  return enter("cuCtxSynchronize", Needs::context, [&](Call& call) {
    check_not_captured(call.machine, *call.context);
    check_unsafe(call.machine);
    synchronize(call, pending_work(*call.context), *call.context);
    drop_destroyed_streams(*call.context);
  });
}

}  // extern "C"

#pragma GCC visibility pop

}  // namespace sinter::virtual_gpu::driver
