// The contents of a saved executable: the graph as text, and plans and kernel images of its size
// classes for each architecture. Loading plans nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/shape/extent.h"
#include "runtime/execution/opaque_call.h"
#include "runtime/execution/variant.h"
#include "sinter/graph.h"
#include "sinter/options.h"

namespace sinter {

/// The architecture of kernels for the host device, used like `sm_90`.
inline constexpr std::string_view kHostArch = "host";

/// A user's function that the program calls. The loading process must have registered it.
struct SavedFunction {
  std::string name;
  std::int64_t version = 0;
  bool has_workspace = false;
};

struct SavedProgram {
  std::string graph;  ///< in the text form
  /// The names of the graph, its inputs and its outputs. The text form replaces a name that has
  /// characters other than letters, digits and _.
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> symbols;  ///< extents refer to them by index
  Numerics numerics;
  bool fuse = true;
  std::vector<std::string> skip;  ///< skipped passes
  std::int64_t bucket_bytes = 0;  ///< of collectives
  int recorded_ops = 0;
  std::vector<SavedFunction> functions;  ///< by ascending name
};

/// An opaque call of a variant, in place of a kernel.
struct SavedCall {
  int kernel = 0;  ///< index in the variant's kernels
  CallDescription call;
};

/// A variant without its graph and functions, and the indices of its kernels' images.
struct SavedVariant {
  Variant variant;
  std::vector<std::int64_t> sizes;  ///< that it was planned for, per symbol
  std::vector<int> images;          ///< per kernel; -1 for a call
  std::vector<SavedCall> calls;     ///< in the order of kernels
};

/// All kernels of one architecture.
struct SavedKernels {
  std::string arch;
  std::string host_machine_level;  ///< host device only: the processors that run its code
  std::string target;              ///< the GPU that the kernels were planned for
  std::string
      host_prelude_hash;  ///< host device only: hash of the prelude, which defines the calling code
  std::vector<std::vector<std::byte>> images;
  std::vector<SavedVariant> variants;
};

std::vector<std::byte> pack(const SavedProgram& program);
std::vector<std::byte> pack(const SavedKernels& kernels);

/// Throws InvalidData if the bytes are invalid.
SavedProgram unpack_program(std::span<const std::byte> bytes);
/// The saved graph. Throws UserError if its text is invalid (`path` is for that message), and
/// InvalidData if the numbers of inputs, outputs and names differ.
Graph graph_of(const SavedProgram& program, const std::string& path);
/// Unpacks kernels, whose extents use the symbols of `graph`. Checks that their buffers, kernels
/// and arguments are consistent with each other and with the graph's inputs and outputs. Checks
/// that each image is complete, but not its code. Throws InvalidData.
SavedKernels unpack_kernels(std::span<const std::byte> bytes, const SavedProgram& program,
                            const Graph& graph);

/// True if `image` is an ELF file that contains all its sections and segments, or, for GPUs, PTX
/// with its final zero byte. Drivers do not get the size of an image.
bool is_complete_image(std::span<const std::byte> image, std::string_view arch);

}  // namespace sinter
