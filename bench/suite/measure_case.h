// Measures one case of the suite on a device; the result has a row per mode and system.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "bench/suite/check_results.h"
#include "bench/suite/device_error.h"
#include "bench/suite/gpu_clocks.h"
#include "bench/suite/read_kernel.h"
#include "bench/suite/suite_file.h"
#include "bench/suite/timing.h"
#include "sinter/sinter.h"

namespace sinter::suite {

/// One row of a results file; bench/README.md defines the fields.
struct Row {
  std::string name;
  std::string group;
  std::string system;
  char mode = 'K';
  std::string status = "ok";  ///< ok, wrong, failed or not_run
  std::string reason = {};    ///< the reason for a status other than ok
  std::int64_t bytes = 0;
  Quartiles call_us = {};
  double asynchronous_us = 0;  ///< mode E
  Quartiles copy_us = {};      ///< sinter's copy kernel, for as many bytes in the same mode
  Quartiles memcpy_us = {};    ///< the driver's copy
  Quartiles read_us = {};      ///< reductions in modes K and L: a kernel that only reads
  int sets = 0;
  int calls = 0;  ///< per timed graph or loop
  int kernels = 0;
  std::int64_t planned_bytes = 0;  ///< bytes that the planned kernels move
  double prepare_ms = 0;           ///< planning, compiling and tuning
  ResultCheck result_check = {};
  Clocks clocks = {};
};

/// The time of the faster copy, the reference for bandwidths.
inline double fastest_copy_us(const Row& row) {
  return std::min(row.copy_us.median, row.memcpy_us.median);
}

struct MeasureSettings {
  std::string modes = "KLE";
  int repeats = 9;  ///< of each graph (mode K) and loop (mode L)
  /// Few calls and repeats, for meaningless times: tiny cases, the host device.
  bool is_short = false;
};

class CaseRunner {
 public:
  CaseRunner(Device device, const MeasureSettings& settings);

  /// Never throws; a failure is a row with status `failed` and the reason.
  std::vector<Row> run(const Case& measured);
  std::string device_error() const { return suite::device_error(device_); }

 private:
  struct Prepared;

  std::vector<Row> measure(const Case& measured);
  void check_case(const Case& measured, Options options, Row& row);
  int sets_for(std::int64_t set_bytes, int kernels) const;
  std::int64_t free_bytes() const;
  Row in_graph(const Case& measured, const Row& first, Prepared& prepared);
  Row in_loop(const Row& first, Prepared& prepared);
  std::vector<Row> one_by_one(const Row& first, Prepared& prepared);
  void measure_with_copies(Row& row, Measured own, Prepared& prepared, bool as_graph);

  Device device_;
  MeasureSettings settings_;
  Stream stream_;
  Nvml nvml_;
  Executable copy_;  ///< y = x, for any size
  ReadKernel read_;
  std::map<std::string, ResultCheck> tiny_checks_;  ///< by op and dtype
};

}  // namespace sinter::suite
