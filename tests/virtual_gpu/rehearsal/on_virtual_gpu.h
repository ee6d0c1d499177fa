// Runs programs and scripts on the virtual GPU, as a user would on a GPU.
#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/files/command.h"

namespace sinter::virtual_gpu {

/// Why this build cannot run programs on the virtual GPU; empty if it can. Programs with a
/// sanitizer cannot load the double of the driver, which has none.
inline std::string no_programs(const std::string& program) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return "this build has a sanitizer";
#endif
  if (test::command_path().empty()) return "this build has no command";
  const std::filesystem::path path = test::command_path().parent_path() / program;
  return std::filesystem::exists(path) ? "" : "this build has no " + program;
}

/// Runs a shell command with the virtual GPU as the only GPU. Programs are found by name.
inline test::CommandResult run_on_virtual_gpu(const std::string& line,
                                              const std::string& variables = {}) {
  const std::string library = std::filesystem::path(VIRTUAL_GPU_DRIVER_LIBRARY).parent_path();
  return test::run_command(
      "unset CUDA_VISIBLE_DEVICES SINTER_REHEARSE SINTER_TARGET_FILE\n"
      "export LD_LIBRARY_PATH='" +
          library + "' SINTER_PTX=on VIRTUAL_GPUS='sm_90 sms=4 l2=64k' PATH='" +
          test::command_path().parent_path().string() + "':\"$PATH\" " + variables + "\n" + line,
      std::filesystem::current_path(), test::CommandNvrtc::machine);
}

}  // namespace sinter::virtual_gpu
