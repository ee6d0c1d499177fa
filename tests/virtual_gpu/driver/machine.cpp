#include "tests/virtual_gpu/driver/machine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "tests/virtual_gpu/driver/attributes.h"
#include "tests/virtual_gpu/driver/submission.h"
#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu::driver {

namespace {

/// The addresses of all devices. Tests load many copies of this driver into one process.
constexpr std::uint64_t kAddressBytes = std::uint64_t{128} << 30;

}  // namespace

Machine& Machine::get() {
  static auto& machine = *new Machine(read_configuration(
      [](const char* name) { return static_cast<const char*>(std::getenv(name)); }));
  return machine;
}

ThreadState& this_thread() {
  static thread_local ThreadState state;
  return state;
}

CUresult Machine::initialize() {
  if (is_initialized()) return CUDA_SUCCESS;
  if (!configuration.problem.empty()) {
    std::fprintf(stderr, "virtual GPU: %s\n", configuration.problem.c_str());
    return CUDA_ERROR_UNKNOWN;
  }
  if (configuration.devices.empty()) return kErrorNoDevice;
  memory = new GlobalMemory(kAddressBytes);
  happens_before = new HappensBefore;
  for (const DeviceDescription& description : configuration.devices) {
    auto device = std::make_unique<Device>();
    device->ordinal = static_cast<int>(devices.size());
    device->description = description;
    device->limits = limits_of(description);
    device->memory_bytes = memory_of(description);
    devices.push_back(std::move(device));
  }
  if (!configuration.counts_file.empty()) counts.open(configuration.counts_file, std::ios::app);
  if (!configuration.examinations_file.empty()) examinations.open(configuration.examinations_file);
  executor.start();
  process_ = getpid();
  // The real driver shuts down in a handler of this kind. Static variables that are older than the
  // first cuInit are destroyed later, and their calls fail.
  std::atexit([] {
    Machine& machine = get();
    if (machine.is_forked()) return;
    machine.is_deinitialized = true;
    machine.executor.stop();
  });
  return CUDA_SUCCESS;
}

bool Machine::is_forked() const { return process_ != 0 && process_ != getpid(); }

CUresult Machine::fault(std::string_view function) {
  const CUresult code = faults.count(function);
  if (!ends_context(code) || !is_initialized() || !this_thread().context) return code;
  const auto context =
      handles.find<ContextObject>(this_thread().context, CUDA_ERROR_INVALID_CONTEXT);
  executor.fail(*context, code, fmt::format("injected: {} fails", function));
  return code;
}

void Machine::log(std::string_view function, CUresult code, std::string_view reason) const {
  if (!configuration.logs) return;
  std::fprintf(stderr, "virtual GPU: %.*s: error %u: %.*s\n", static_cast<int>(function.size()),
               function.data(), static_cast<unsigned>(code), static_cast<int>(reason.size()),
               reason.data());
}

std::shared_ptr<ContextObject> Machine::make_context(Device& device) {
  auto context = std::make_shared<ContextObject>();
  context->device = &device;
  context->gpu =
      std::make_unique<Gpu>(device.limits, gpu_options(configuration), *memory, *happens_before);
  handles.add(context);
  context->legacy = make_stream(*this, *context, {.is_legacy = true, .is_blocking = true});
  contexts.push_back(context.get());
  return context;
}

GpuOptions gpu_options(const Configuration& configuration) {
  return {.schedule = configuration.schedule,
          .seed = configuration.seed,
          .approximations = {.has_errors = configuration.approximations_have_errors,
                             .seed = configuration.seed}};
}

CUresult check_thread(Machine& machine) {
  // "The host function must not make any CUDA API calls": cuLaunchHostFunc, cuUserObjectCreate.
  if (this_thread().is_in_callback) return CUDA_ERROR_NOT_PERMITTED;
  if (machine.is_deinitialized) return kErrorDeinitialized;
  if (machine.is_forked()) return CUDA_ERROR_NOT_INITIALIZED;
  return CUDA_SUCCESS;
}

ContextObject* current_context(Machine& machine, Needs needs) {
  if (!machine.is_initialized()) throw Refusal(CUDA_ERROR_NOT_INITIALIZED, "call cuInit first");
  if (needs == Needs::initialization) return nullptr;
  const CUcontext handle = this_thread().context;
  if (!handle) {
    if (needs == Needs::possible_context) return nullptr;
    throw Refusal(CUDA_ERROR_INVALID_CONTEXT, "no context is current on this thread");
  }
  const CUresult code =
      machine.handles.was_destroyed(handle) ? kErrorContextIsDestroyed : CUDA_ERROR_INVALID_CONTEXT;
  ContextObject* const context = machine.handles.find<ContextObject>(handle, code).get();
  if (needs == Needs::context && context->failure != CUDA_SUCCESS)
    throw Refusal(context->failure, "an earlier kernel or copy has failed");
  return context;
}

CUresult code_of_exception(Machine& machine, std::string_view name) {
  try {
    throw;
  } catch (const Refusal& refusal) {
    machine.log(name, refusal.code, refusal.reason);
    return refusal.code;
  } catch (const std::bad_alloc&) {
    machine.log(name, CUDA_ERROR_OUT_OF_MEMORY, "the host has no memory left");
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "virtual GPU: %.*s: %s\n", static_cast<int>(name.size()), name.data(),
                 error.what());
    return CUDA_ERROR_UNKNOWN;
  }
}

}  // namespace sinter::virtual_gpu::driver
