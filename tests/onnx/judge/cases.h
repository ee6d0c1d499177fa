// The cases that tests/onnx/write_cases.py writes: models of one or few ops with inputs and
// expected outputs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ir/shape/host_array.h"

namespace sinter::test {

struct OnnxCase {
  std::string name;          ///< its folder, from the folder of all cases: `node/test_abs`
  std::string family;        ///< the operator of a node test, else the kind of the case
  std::string out_of_scope;  ///< why sinter does not aim at it; empty if it does
  std::filesystem::path folder;

  std::filesystem::path model() const { return folder / "model.onnx"; }
};

/// The cases in `root`, in the order of its cases.txt; none if there is no such file.
std::vector<OnnxCase> read_onnx_cases(const std::filesystem::path& root);

/// The values of one data set of a case, in the order of the model's inputs and outputs.
struct OnnxData {
  std::vector<HostArray> inputs;
  std::vector<HostArray> outputs;
};

/// The data sets of a case. Throws UserError if a value has no dtype of sinter, or cannot be read.
std::vector<OnnxData> read_onnx_data(const OnnxCase& test);

}  // namespace sinter::test
