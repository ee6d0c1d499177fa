// OneDnnConv: a convolution of f32 on the host device by oneDNN, made once per problem.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/libraries/host/host_conv.h"
#include "runtime/libraries/onednn/part_conv.h"

namespace sinter {

/// Threads of sinter compute the parts. Before, they copy the parts of operands into the layouts of
/// oneDNN; each operand is copied once, for all parts that read it. Immutable.
class OneDnnConv {
 public:
  explicit OneDnnConv(const OneDnn& library) : library_(library) {}
  /// False if oneDNN has no fast implementation. Call it once, and first.
  bool prepare(const ConvProblem& problem);

  std::int64_t workspace_bytes() const;
  /// Results do not depend on the number of threads. Throws DriverError if oneDNN fails.
  void run(const ConvArrays& arrays, const HostWorkspace& workspace) const;

 private:
  struct Round;  ///< images whose operands are in the workspace together

  /// The workspace: parts of each array that threads share, then the memory of each thread.
  struct Memory {
    std::array<std::int64_t, 3> offset = {}, bytes = {};  ///< of each array; bytes of one part
    std::int64_t shared = 0;
    std::int64_t of_thread = 0;
    std::int64_t of_result = 0;  ///< within the memory of a thread, behind the scratchpad
  };

  /// Makes the primitives. False if oneDNN has no fast implementation of a band, or if bands need
  /// different layouts of w, of which there is one copy.
  bool prepare_bands();
  const PartConv& conv(const ConvParts::Index& index) const {
    return *convs_[conv_of_band_[static_cast<std::size_t>(index.band)]];
  }
  bool adds() const { return parts_.whole.kind == ConvKind::weight_gradient && parts_.images > 1; }
  std::int64_t parts_in_round(ConvRole role) const;
  void plan_memory();
  std::byte* shared_part(const Round& round, ConvRole role, const ConvParts::Index& index) const;
  void import_operands(const Round& round) const;
  void import_operand(const Round& round, ConvRole role, const ConvParts::Index& index,
                      std::byte* memory) const;
  void compute(const Round& round) const;
  void compute_part(const Round& round, const ConvParts::Index& index, std::byte* memory) const;
  void add_part(const Round& round, const ConvParts::Index& index, std::byte* memory) const;

  const OneDnn& library_;
  ConvParts parts_;
  std::vector<std::unique_ptr<const PartConv>> convs_;  ///< bands of equal sizes share one
  std::vector<std::size_t> conv_of_band_;
  std::int64_t images_of_round_ = 1;  ///< parts along the axis of images
  Memory memory_;
};

/// True if products compute the convolution faster than oneDNN. With one tap, the image itself is
/// an operand of a product. Copies into oneDNN's layouts would cost up to half of the time. The
/// data gradient of less than half a block of channels computes whole blocks.
bool is_faster_as_product(const ConvProblem& problem);

/// The convolution of `problem`, made at its first use. Null if products should compute it: other
/// dtypes than f32, empty arrays, and sizes without a fast implementation.
std::shared_ptr<const OneDnnConv> onednn_conv(const OneDnn& library, const ConvProblem& problem);

}  // namespace sinter
