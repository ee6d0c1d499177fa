// What a saved executable consists of: the graph as text, and for each architecture the plans of
// its classes of sizes with the images of their kernels. Nothing is planned when it is loaded.
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

/// The architecture of kernels for the host device, among `sm_90` and its like.
inline constexpr std::string_view kHostArch = "host";

/// A function of the user's that a program calls; who loads it has one of this name.
struct SavedFunction {
  std::string name;
  std::int64_t version = 0;
  bool has_workspace = false;
};

struct SavedProgram {
  std::string graph;                ///< in the text form
  std::string name;                 ///< of the graph, and of its inputs and outputs: texts have
  std::vector<std::string> inputs;  ///< other ones where these are not letters, digits and _
  std::vector<std::string> outputs;
  std::vector<std::string> symbols;  ///< that extents are written in, by number
  Numerics numerics;
  bool fuse = true;
  std::vector<std::string> skip;  ///< passes that were left out
  int recorded_ops = 0;
  std::vector<SavedFunction> functions;  ///< by ascending name
};

/// What a variant has in place of a kernel.
struct SavedCall {
  int kernel = 0;
  CallDescription call;
};

/// A variant without its graph and functions, and where the code of its kernels is.
struct SavedVariant {
  Variant variant;
  std::vector<std::int64_t> sizes;  ///< that it was planned for, by number of symbol
  std::vector<int> images;          ///< per kernel; -1 of calls
  std::vector<SavedCall> calls;     ///< in the order of kernels
};

/// All of one architecture.
struct SavedKernels {
  std::string arch;
  std::string machine;  ///< of the host device: the processors that run its code
  std::string target;   ///< that the kernels were planned for
  std::string stamp;    ///< of the host device: of the prelude, and so of what calls its code
  std::vector<std::vector<std::byte>> images;
  std::vector<SavedVariant> variants;
};

std::vector<std::byte> pack(const SavedProgram& program);
std::vector<std::byte> pack(const SavedKernels& kernels);

/// Throws Damage where the bytes mean nothing.
SavedProgram unpack_program(std::span<const std::byte> bytes);
/// The graph that was saved. Throws UserError where its text means nothing (`path` is for that
/// message), Damage where the names are not as many.
Graph graph_of(const SavedProgram& program, const std::string& path);
/// The same of kernels, whose extents are made of the symbols of `graph`: all that they say of
/// buffers, kernels and arguments fits together and the graph's inputs and outputs. Images are what
/// a driver can be given: whole, whatever they do.
SavedKernels unpack_kernels(std::span<const std::byte> bytes, const SavedProgram& program,
                            const Graph& graph);

/// True if `image` is an ELF file none of whose parts lies outside it, or, for GPUs, PTX with its
/// final zero: drivers are not told how long an image is.
bool is_whole_image(std::span<const std::byte> image, std::string_view arch);

}  // namespace sinter
