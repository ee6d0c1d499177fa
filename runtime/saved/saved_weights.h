// The weights of a saved executable: a table, and the elements of the arrays in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/binding/weights.h"
#include "runtime/saved/saved_file.h"
#include "runtime/support/mapped_file.h"
#include "sinter/graph.h"

namespace sinter {

/// An array or a number for one input.
struct SavedWeight {
  std::string input;
  DType dtype = DType::f32;
  bool is_number = false;
  Literal number;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< of the array in memory; empty: row-major
  std::int64_t offset = 0;            ///< of the row-major elements, a multiple of kSavedAlignment
  std::int64_t bytes = 0;
};

/// In the order of the graph's inputs. The elements of the arrays do not overlap.
struct SavedWeights {
  std::vector<SavedWeight> table;
  std::span<const std::byte> data = {};  ///< refers to the file

  std::span<const std::byte> elements_of(const SavedWeight& weight) const {
    return data.subspan(static_cast<std::size_t>(weight.offset),
                        static_cast<std::size_t>(weight.bytes));
  }
};

std::vector<std::byte> pack(const SavedWeights& weights);  ///< the table only

/// The sections of `weights`. Writing them downloads the arrays, each when its turn comes.
std::vector<SavedSection> weight_sections(const Weights& weights, const Interface& interface,
                                          Device device);

/// Reads the table of weights. Throws InvalidData if it does not fit the inputs of `graph` or the
/// size of `data`.
SavedWeights unpack_weights(std::span<const std::byte> table, std::span<const std::byte> data,
                            const Graph& graph);

/// The weights on `device`; null if there are none. Arrays on a host device are views of `file`,
/// except those that the program updates or that are not row-major. Other arrays are copied to the
/// device, and the copies are done when this returns. Throws UserError if a shape does not fit the
/// interface or another weight.
std::shared_ptr<const Weights> load_weights(const SavedWeights& weights,
                                            const std::shared_ptr<const MappedFile>& file,
                                            const Interface& interface, Device device);

}  // namespace sinter
