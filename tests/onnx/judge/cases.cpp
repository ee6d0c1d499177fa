#include "tests/onnx/judge/cases.h"

#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "sinter/error.h"
#include "tools/sinter/files/npy.h"

namespace sinter::test {

namespace {

namespace fs = std::filesystem;

/// The file `STEM.DTYPE.npy` in `folder`; an empty path if there is none.
fs::path value_file(const fs::path& folder, const std::string& stem) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().starts_with(stem + ".")) return entry.path();
  return {};
}

HostArray read_value(const fs::path& file) {
  const std::string type = file.stem().extension().string().substr(1);
  if (file.extension() == ".npy")
    for (int i = 0; i <= static_cast<int>(DType::c64); ++i)
      if (const auto dtype = static_cast<DType>(i); name(dtype) == type)
        return command::read_npy(file.string(), dtype);
  throw UserError(
      fmt::format("{} is of type {}, which is no dtype", file.stem().stem().string(), type));
}

/// The values of `input_0`, `input_1`, … for the word `input`.
std::vector<HostArray> read_values(const fs::path& folder, std::string_view word) {
  std::vector<HostArray> values;
  while (true) {
    const fs::path file = value_file(folder, fmt::format("{}_{}", word, values.size()));
    if (file.empty()) return values;
    values.push_back(read_value(file));
  }
}

}  // namespace

std::vector<OnnxCase> read_onnx_cases(const fs::path& root) {
  std::vector<OnnxCase> cases;
  std::ifstream file(root / "cases.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    OnnxCase test;
    std::getline(fields, test.name, '\t');
    std::getline(fields, test.family, '\t');
    std::getline(fields, test.out_of_scope, '\t');
    test.folder = root / test.name;
    cases.push_back(std::move(test));
  }
  return cases;
}

std::vector<OnnxData> read_onnx_data(const OnnxCase& test) {
  std::vector<OnnxData> sets;
  while (true) {
    const fs::path folder = test.folder / fmt::format("data_{}", sets.size());
    if (!fs::exists(folder)) break;
    sets.push_back({read_values(folder, "input"), read_values(folder, "output")});
  }
  if (sets.empty()) throw UserError(fmt::format("{} has no folder data_0", test.folder.string()));
  return sets;
}

}  // namespace sinter::test
