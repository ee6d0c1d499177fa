// KernelInfo: the facts of a kernel that launches and queries need, read from its Program.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/virtual_gpu/program/program.h"

namespace sinter::virtual_gpu::driver {

struct KernelInfo {
  std::string name;
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0;
  int static_shared_bytes = 0;
  int local_bytes = 0;
  int max_threads = 1024;                           ///< of `.maxntid` or `.reqntid`
  std::array<int, 3> required_threads = {0, 0, 0};  ///< 0: none
  std::array<int, 3> required_cluster = {0, 0, 0};  ///< 0: none
  /// An estimate of what ptxas would use: the most live registers and some for addresses, bounded
  /// by the launch bounds. The real figure depends on ptxas.
  int registers = 0;
  int ptx_version = 0;                    ///< 90 of PTX 9.0
  bool waits_for_prior_launches = false;  ///< it has `griddepcontrol.wait`
};

/// The kernels of the program, in its order.
std::vector<KernelInfo> kernel_infos(const Program& program);

}  // namespace sinter::virtual_gpu::driver
