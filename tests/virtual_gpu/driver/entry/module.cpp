// Entry points: modules and functions.
#include <algorithm>
#include <climits>
#include <cstdio>

#include "tests/virtual_gpu/driver/capture.h"
#include "tests/virtual_gpu/driver/entry/arguments.h"
#include "tests/virtual_gpu/driver/launch.h"
#include "tests/virtual_gpu/driver/module_image.h"
#include "tests/virtual_gpu/driver/submission.h"
#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu::driver {

namespace {

/// Reads the program and the kernels of the module. Configuration::removed changes no KernelInfo,
/// so that a kernel without its wait still starts early.
void load_program(const Call& call, const void* image, ModuleObject& module) {
  ContextObject& context = *call.context;
  const Configuration& configuration = call.machine.configuration;
  std::string ptx =
      checked_ptx(image, configuration.accepts_newer_ptx ? INT_MAX : configuration.driver_version,
                  context.device->limits.compute_capability);
  try {
    module.program = context.gpu->load(ptx);
    module.kernels = kernel_infos(*module.program);
    if (const auto& removed = call.machine.configuration.removed)
      module.program = context.gpu->load(mutated_text(std::move(ptx), *removed));
  } catch (const PtxError& error) {
    std::fprintf(stderr, "virtual GPU: invalid PTX: %s\n", error.what());
    throw Refusal(CUDA_ERROR_INVALID_PTX, error.what());
  }
}

std::shared_ptr<ModuleObject> find_module(const Call& call, CUmodule handle) {
  return call.machine.handles.find<ModuleObject>(handle, CUDA_ERROR_INVALID_HANDLE);
}

std::shared_ptr<FunctionObject> make_function(Machine& machine, const ModuleObject& module,
                                              int entry) {
  auto function = std::make_shared<FunctionObject>();
  function->context = module.context;
  function->program = module.program;
  function->entry = entry;
  function->info = module.kernels[static_cast<std::size_t>(entry)];
  function->max_dynamic_shared =
      std::max(kDefaultSharedBytes - function->info.static_shared_bytes, 0);
  function->cluster = function->info.required_cluster;
  machine.handles.add(function);
  return function;
}

int function_attribute(const FunctionObject& function, unsigned attribute) {
  const KernelInfo& info = function.info;
  switch (attribute) {
    case 0: return info.max_threads;          // MAX_THREADS_PER_BLOCK
    case 1: return info.static_shared_bytes;  // SHARED_SIZE_BYTES
    case 2: return 0;                         // CONST_SIZE_BYTES
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: return info.local_bytes;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: return info.registers;
    case 5: return info.ptx_version;                                     // PTX_VERSION
    case 6: return function.context->device->limits.compute_capability;  // BINARY_VERSION
    case 7: return 0;                                                    // CACHE_MODE_CA
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: return function.max_dynamic_shared;
    case 9: return function.carveout;              // PREFERRED_SHARED_MEMORY_CARVEOUT
    case 10: return info.required_cluster[0] > 0;  // CLUSTER_SIZE_MUST_BE_SET
    case 11:
    case 12:
    case 13:  // REQUIRED_CLUSTER_WIDTH, _HEIGHT, _DEPTH
      return function.cluster[attribute - 11];
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: return function.allows_large_clusters;
    case 15: return 0;  // CLUSTER_SCHEDULING_POLICY_PREFERENCE
    default: throw Refusal(CUDA_ERROR_INVALID_VALUE, "the function attribute is not known");
  }
}

void set_function_attribute(FunctionObject& function, unsigned attribute, int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      require(value >= 0 && value + std::int64_t{function.info.static_shared_bytes} <=
                                function.context->device->limits.shared_per_block,
              "the device has less shared memory per block");
      function.max_dynamic_shared = value;
      return;
    case 9:
      require(value >= -1 && value <= 100, "the carveout is no percentage");
      function.carveout = value;
      return;
    case 11:
    case 12:
    case 13:
      if (function.info.required_cluster[0] > 0)
        throw Refusal(CUDA_ERROR_NOT_PERMITTED, "the PTX gives the size of the cluster");
      require(value >= 0, "the size of the cluster is negative");
      function.cluster[attribute - 11] = value;
      return;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      require(value == 0 || value == 1, "the value is neither 0 nor 1");
      function.allows_large_clusters = value == 1;
      return;
    case 15: require(value >= 0 && value <= 2, "the policy is not known"); return;
    default: throw Refusal(CUDA_ERROR_INVALID_VALUE, "the function attribute cannot be set");
  }
}

CUresult load(CUmodule* module, const void* image) {
  return enter("cuModuleLoadData", Needs::context, [&](Call& call) {
    require(module && image, "an argument is null");
    check_unsafe(call.machine);
    const auto made = std::make_shared<ModuleObject>();
    made->context = call.context;
    load_program(call, image, *made);
    call.machine.handles.add(made);
    *module = as<CUmodule>(made->handle);
  });
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

CUresult cuModuleLoadData(CUmodule* module, const void* image) { return load(module, image); }

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, void*, void**) {
  return load(module, image);  // the options are of the PTX compiler, which there is none of
}

CUresult cuModuleUnload(CUmodule module) {
  return enter("cuModuleUnload", Needs::context, [&](Call& call) {
    check_unsafe(call.machine);
    const std::shared_ptr<ModuleObject> found = find_module(call, module);
    for (const auto& [entry, function] : found->functions) {
      function->is_unloaded = true;
      call.machine.handles.remove(function->handle);
    }
    call.machine.handles.remove(found->handle);
  });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return enter("cuModuleGetFunction", Needs::context, [&](Call& call) {
    require(function && name, "an argument is null");
    const std::shared_ptr<ModuleObject> found = find_module(call, module);
    const auto kernel = std::ranges::find(found->kernels, name, &KernelInfo::name);
    if (kernel == found->kernels.end())
      throw Refusal(CUDA_ERROR_NOT_FOUND, fmt::format("the module has no kernel {}", name));
    const auto entry = static_cast<int>(kernel - found->kernels.begin());
    std::shared_ptr<FunctionObject>& made = found->functions[entry];
    if (!made) made = make_function(call.machine, *found, entry);
    *function = as<CUfunction>(made->handle);
  });
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  return enter("cuFuncGetAttribute", Needs::context, [&](Call& call) {
    require(value, "value is null");
    *value = function_attribute(*find_function(call, function), static_cast<unsigned>(attribute));
  });
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return enter("cuFuncSetAttribute", Needs::context, [&](Call& call) {
    set_function_attribute(*find_function(call, function), static_cast<unsigned>(attribute), value);
  });
}

CUresult cuFuncGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset,
                            std::size_t* bytes) {
  return enter("cuFuncGetParamInfo", Needs::context, [&](Call& call) {
    const std::shared_ptr<FunctionObject> found = find_function(call, function);
    require(offset, "offset is null");
    require(index < found->info.parameters.size(), "the kernel has fewer parameters");
    *offset = found->info.parameters[index].offset;
    if (bytes) *bytes = found->info.parameters[index].bytes;
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace sinter::virtual_gpu::driver
