// Memory for a case: several sets of inputs and results, so that no call finds its data in a cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/suite/suite_file.h"
#include "sinter/sinter.h"

namespace sinter::suite {

class CaseData {
 public:
  /// Random contents, the same for the same case; results hold what no result is. Throws
  /// DriverError where there is not enough memory.
  CaseData(const Graph& graph, const Case& measured, int sets, const Stream& stream);

  int sets() const { return static_cast<int>(sets_.size()); }
  std::vector<Bindings> bind(const Context& context) const;
  /// Memory of a set, of at least half as many bytes as the case moves, that a copy may read.
  Array source(int set) const { return memory_.view(set * set_bytes_, boolean, {set_bytes_}); }
  /// The first result with a place, of a few, that still holds what it held before any run: it was
  /// never written. Empty if there is none. Looks at results alone, not at updated inputs.
  std::string unwritten(const Stream& stream) const;

  /// Bytes of one set of arrays for `graph`, each at a place of its own.
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
