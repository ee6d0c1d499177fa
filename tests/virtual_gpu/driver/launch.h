// The checks of a kernel launch: its configuration, attributes and parameters.
#pragma once

#include "tests/virtual_gpu/driver/machine.h"

namespace sinter::virtual_gpu::driver {

/// The launch that the arguments of cuLaunchKernelEx describe. Throws Refusal with the documented
/// code if the kernel cannot be launched so. `starts_early`: Configuration::starts_early.
KernelLaunch checked_launch(const std::shared_ptr<FunctionObject>& function,
                            const CUlaunchConfig& config, void** parameters, void** extra,
                            bool starts_early = false);

/// The launch of a node of a CUDA Graph. `attributes`: an earlier launch of the node, whose
/// attributes it keeps; or null.
KernelLaunch checked_launch(const std::shared_ptr<FunctionObject>& function,
                            const CUDA_KERNEL_NODE_PARAMS& parameters,
                            const KernelLaunch* attributes);

/// Sets an attribute of a launch. Throws Refusal for an unknown or invalid one.
void set_attribute(KernelLaunch& launch, CUlaunchAttributeID id,
                   const CUlaunchAttributeValue& value);

/// Refuses a launch that may start early on a device without programmatic dependent launch.
void check_programmatic(const KernelLaunch& launch);

/// True if the kernel has `griddepcontrol.wait`, and the device supports it.
bool may_wait_itself(const KernelLaunch& launch);

/// Checks the parts of a launch that depend on one another: clusters, cooperative grids.
void check_combination(const KernelLaunch& launch);

/// Refuses a launch of which no block or cluster can ever be resident.
void check_fits(const KernelLaunch& launch);

/// The launch without parameters, for the questions of the occupancy functions.
LaunchRequest request_of(const KernelLaunch& launch);

/// Finds a function that belongs to the current context and is loaded.
std::shared_ptr<FunctionObject> find_function(const Call& call, CUfunction handle);

}  // namespace sinter::virtual_gpu::driver
