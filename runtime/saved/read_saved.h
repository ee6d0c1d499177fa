// Reads and checks a saved executable. For any bytes, the result is consistent or the reader throws
// UserError.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/saved/saved_file.h"
#include "runtime/saved/saved_program.h"
#include "runtime/saved/saved_weights.h"
#include "runtime/support/mapped_file.h"

namespace sinter {

struct SavedExecutable {
  std::string version;  ///< of the sinter that wrote it
  SavedProgram program;
  std::shared_ptr<Graph> graph;
  std::vector<std::string> archs;       ///< the architectures that it has kernels for
  std::vector<OpenedSection> sections;  ///< the sections of `archs`, which refer to the file
  SavedWeights weights;                 ///< refer to the file
};

/// Maps a file. Throws UserError if users other than this one and root can write the file or own
/// it, or if it cannot be read.
std::shared_ptr<const MappedFile> map_trusted_file(const std::string& path);
/// Reads everything except the kernels. `file` must outlive the result; `path` is for messages.
SavedExecutable read_saved(std::span<const std::byte> file, const std::string& path);
/// Reads the kernels of the architecture `saved.archs[arch]`.
SavedKernels read_kernels(const SavedExecutable& saved, std::size_t arch, const std::string& path);

}  // namespace sinter
