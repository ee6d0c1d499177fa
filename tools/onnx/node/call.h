// A node that is being imported: its inputs, attributes and operator set.
#pragma once

#include "sinter/ops.h"
#include "tools/onnx/node/attributes.h"
#include "tools/onnx/values/recording.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sinter::onnx {

/// The view of a node that its import reads. All functions throw UserError with the problem; the
/// importer adds the node.
class Call {
 public:
  /// An input is nullptr if the node omits it.
  Call(const NodeProto& node, std::vector<ValueRef> inputs, const FunctionAttributes* outer,
       std::int64_t opset, Recording& recording, const std::filesystem::path& folder);

  const NodeProto& node() const { return node_; }
  std::int64_t opset() const { return opset_; }
  const Attributes& attributes() const { return attributes_; }
  Graph& graph() const { return recording_.graph; }
  /// `extent` as a Tensor of rank 0.
  Tensor size_value(Extent extent, DType dtype = i64) const;
  const std::filesystem::path& folder() const { return folder_; }

  /// The number of inputs, including omitted ones before the last.
  std::size_t input_count() const { return inputs_.size(); }
  bool has_input(std::size_t i) const { return i < inputs_.size() && inputs_[i]; }
  /// The number of outputs, including unnamed ones.
  std::size_t output_count() const { return node_.output.size(); }
  bool wants_output(std::size_t i) const {
    return i < node_.output.size() && !node_.output[i].empty();
  }

  const Value& input(std::size_t i) const;
  /// The type of an input. Constants are not recorded for it.
  DType dtype(std::size_t i) const;
  std::vector<Extent> shape(std::size_t i) const;
  /// The element type of an input if it has no dtype of its own, else undefined.
  ElementType narrow(std::size_t i) const { return input(i).narrow; }
  int rank(std::size_t i) const { return static_cast<int>(shape(i).size()); }
  Tensor tensor(std::size_t i) const;
  /// An empty Tensor if the node omits the input.
  Tensor optional_tensor(std::size_t i) const;
  /// The input as a number if it is a constant of one element and its rank is at most `rank`.
  Operand operand(std::size_t i, int rank) const;
  std::vector<Tensor> tensors(std::size_t first = 0) const;

  /// A name for an array that belongs to the node: that of its first output, and `what`.
  std::string table_name(std::string_view what) const;
  /// An array that the importer has computed, as a weight of the graph. Throws UserError if such
  /// arrays of all nodes become too large.
  Tensor constant(std::string_view name, HostArray array) const;

  /// The seed and the offset for the random numbers that the node draws. No other node has the
  /// same pair. The attribute `seed` fixes the seed; otherwise it is an input of the graph.
  struct RandomStream {
    Operand seed;
    std::int64_t offset = 0;
  };
  RandomStream random_stream() const;

  /// The contents of an input if the importer knows them, else nullptr.
  const KnownValue* known(std::size_t i) const;
  /// The contents of an input that must be known; `what` names it in the message.
  const KnownValue& known(std::size_t i, std::string_view what) const;
  /// The elements of a vector or number: integers that may depend on symbols.
  std::vector<Extent> extents(std::size_t i, std::string_view what) const;
  /// The same, but symbols are refused.
  std::vector<std::int64_t> integers(std::size_t i, std::string_view what) const;
  /// The one element of an input.
  std::int64_t integer(std::size_t i, std::string_view what) const;
  double real(std::size_t i, std::string_view what) const;
  bool flag(std::size_t i, std::string_view what) const { return integer(i, what) != 0; }

 private:
  /// `input 'shape' (shape)`
  std::string described(std::size_t i, std::string_view what) const;

  const NodeProto& node_;
  std::vector<ValueRef> inputs_;
  Attributes attributes_;
  std::int64_t opset_;
  Recording& recording_;
  const std::filesystem::path& folder_;
};

/// `axis` counted from the front. Throws UserError unless -rank <= axis < rank.
int checked_axis(std::int64_t axis, int rank);
/// `axes` counted from the front. Throws UserError if one is out of range or repeated.
std::vector<std::int64_t> checked_axes(std::span<const std::int64_t> axes, int rank);

/// Throws UserError with `problem`.
[[noreturn]] void refuse(std::string problem);

}  // namespace sinter::onnx
