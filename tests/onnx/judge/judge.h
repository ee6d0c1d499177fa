// Imports the model of a case, runs it on the case's inputs and compares the results.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/shape/host_array.h"
#include "sinter/graph.h"
#include "tests/onnx/judge/cases.h"

namespace sinter::test {

/// inexact: every result that differs from the expected number is closer to the exact one.
enum class Status : std::uint8_t { passed, inexact, failed, unsupported, out_of_scope };

struct Verdict {
  Status status = Status::passed;
  std::string reason = {};  ///< why it did not pass
};

/// `unsupported: reason`; empty for a pass.
std::string text_of(const Verdict& verdict);

/// The ways to run a recorded graph.
enum class Runner : std::uint8_t {
  oracle,                 ///< the interpreter
  host_device,            ///< emitted kernels, compiled without optimisation; fused and unfused
  optimized_host_device,  ///< the same for large models, only fused
  default_device,         ///< the first GPU if there is one
};

/// A case whose model is imported.
class ImportedCase {
 public:
  /// Never throws: the verdict tells why the case cannot run. Inputs that the importer must know,
  /// such as the shape of a Reshape, become constants with the values of the first data set.
  explicit ImportedCase(const OnnxCase& test);

  const OnnxCase& test() const { return test_; }
  bool has_constant_inputs() const { return !constants_.empty(); }
  /// nullopt if the case cannot run.
  const Graph* graph() const { return graph_ ? &*graph_ : nullptr; }
  /// The sizes of the graph's symbols for the first data set, by id.
  const std::vector<std::int64_t>& symbols() const { return symbols_; }

  /// Runs all data sets.
  Verdict judge(Runner runner) const;
  /// The same for random results, of which only dtypes and shapes are expected.
  Verdict judge_types() const;

 private:
  void import();
  void add_sizes(std::string_view message);
  HostArrays inputs_of(const OnnxData& data) const;
  /// Runs all data sets, and compares the results by `compare(results, inputs, data)`.
  template <class Compare>
  Verdict judge_by(Runner runner, Compare compare) const;
  Verdict compared(const HostArrays& results, const HostArrays& inputs, const OnnxData& data) const;

  OnnxCase test_;
  Verdict verdict_;
  std::vector<OnnxData> data_;
  std::vector<std::string> input_names_;   ///< of the model, in the order of the data
  std::vector<std::string> output_names_;  ///< of the graph
  HostArrays constants_;                   ///< inputs of the model that the importer must know
  HostArrays weights_;                     ///< inputs of the graph whose contents the model gives
  std::vector<std::optional<std::string>> graph_inputs_;  ///< [input]: its name in the graph
  std::vector<std::int64_t> symbols_;
  std::optional<Graph> graph_;
};

/// Judges cases on the host device. One run of the compiler serves all of them.
std::vector<Verdict> judge_on_host(std::span<const ImportedCase> cases);

}  // namespace sinter::test
