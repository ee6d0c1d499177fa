// Reading a saved executable, from the bytes of a file to what can be loaded: whatever the bytes
// are, it ends with something that fits together or with a UserError.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/saved/saved_file.h"
#include "runtime/saved/saved_program.h"

namespace sinter {

struct SavedExecutable {
  std::string version;  ///< of the sinter that wrote it
  SavedProgram program;
  std::shared_ptr<Graph> graph;
  std::vector<std::string> archs;       ///< that there are kernels for
  std::vector<OpenedSection> sections;  ///< of `archs`, of the file
};

/// A file that nobody but the user and root could write. Throws UserError.
std::vector<std::byte> read_own_file(const std::string& path);
/// Reads all but the kernels. `file` must outlive the result, `path` is for messages.
SavedExecutable read_saved(std::span<const std::byte> file, const std::string& path);
/// The kernels of architecture number `arch`.
SavedKernels read_kernels(const SavedExecutable& saved, std::size_t arch, const std::string& path);

}  // namespace sinter
