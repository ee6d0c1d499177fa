// The memory of a case: several sets of inputs and results, so that every call runs on cold data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/suite/suite_file.h"
#include "sinter/sinter.h"

namespace sinter::suite {

struct NamedArray {
  std::string name;
  Array array;
};

class CaseData {
 public:
  /// Fills inputs with random contents, equal for equal cases, and results with a poison value.
  /// Throws DriverError if there is not enough memory.
  CaseData(const Graph& graph, const Case& measured, int sets, const Stream& stream);

  int sets() const { return static_cast<int>(sets_.size()); }
  std::vector<Bindings> bind(const Context& context) const;
  /// The inputs and outputs of a set.
  std::vector<NamedArray> arrays(int set) const;
  /// The memory of a set, for copies to read. It has at least half of the bytes that the case
  /// moves.
  Array source(int set) const { return memory_.view(set * set_bytes_, boolean, {set_bytes_}); }
  /// The first result element that still holds the poison value, as `name[index]`; empty if there
  /// is none. Checks 8 pieces of up to 256 KiB of each output, but no updated inputs.
  std::string unwritten(const Stream& stream) const;

  /// The bytes of one set of arrays for `graph`, with padding.
  static std::int64_t bytes_of_set(const Graph& graph, std::int64_t offset);

 private:
  struct Set {
    std::vector<Array> inputs;
    std::vector<Array> outputs;
  };

  void fill(const Case& measured, const Stream& stream);

  std::int64_t set_bytes_;
  Array memory_;
  std::vector<std::string> input_names_;
  std::vector<std::string> output_names_;
  std::vector<Set> sets_;
};

}  // namespace sinter::suite
