// Measures one case of the suite on a device: a row of results per mode.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "bench/suite/broken_device.h"
#include "bench/suite/gpu_clocks.h"
#include "bench/suite/judge.h"
#include "bench/suite/read_kernel.h"
#include "bench/suite/suite_file.h"
#include "bench/suite/timing.h"
#include "sinter/sinter.h"

namespace sinter::suite {

/// One line of a results file; bench/README.md says what the fields mean.
struct Row {
  std::string name;
  std::string group;
  std::string system;
  char mode = 'K';
  std::string status = "ok";  ///< ok, wrong, failed or not_run
  std::string reason = {};    ///< why it is not ok
  std::int64_t bytes = 0;
  Quartiles call_us = {};
  double asynchronous_us = 0;  ///< mode E
  Quartiles copy_us = {};      ///< our 16-byte copy kernel, the same bytes in the same mode
  Quartiles memcpy_us = {};    ///< the driver's copy
  Quartiles read_us = {};      ///< of reductions in modes K and L: a kernel that only reads
  int sets = 0;
  int calls = 0;  ///< per timed graph or loop
  int kernels = 0;
  std::int64_t planned_bytes = 0;  ///< what the kernels move, as planned
  double prepare_ms = 0;           ///< planning, compiling, tuning
  DefaultVerification judgement = {};
  Clocks clocks = {};
};

/// What a bandwidth is held against: the faster of the two copies.
inline double fastest_copy_us(const Row& row) {
  return std::min(row.copy_us.median, row.memcpy_us.median);
}

struct MeasureSettings {
  std::string modes = "KLE";
  int repeats = 9;  ///< of each graph and loop
  int calls = 200;  ///< synchronised, in mode E
  int asynchronous_calls = 1000;
  int loop = 50;  ///< calls of mode L
  bool is_short =
      false;  ///< a few of each, where no time means anything: tiny cases, the host device
};

class CaseRunner {
 public:
  CaseRunner(Device device, const MeasureSettings& settings);

  /// Never throws: what does not work is a row that says so.
  std::vector<Row> run(const Case& measured);
  std::string why_broken() const { return suite::why_broken(device_); }

 private:
  struct Prepared;

  std::vector<Row> measure(const Case& measured);
  void judge_results(const Case& measured, Options options, Row& row);
  int sets_for(std::int64_t set_bytes, int kernels) const;
  std::int64_t free_bytes() const;
  Row in_graph(const Case& measured, const Row& first, Prepared& prepared);
  Row in_loop(const Row& first, Prepared& prepared);
  std::vector<Row> one_by_one(const Row& first, Prepared& prepared);
  void measure_beside(Row& row, Measured own, Prepared& prepared, bool as_graph);

  Device device_;
  MeasureSettings settings_;
  Stream stream_;
  Nvml nvml_;
  Executable copy_;  ///< y = x, of any size
  ReadKernel read_;
  std::map<std::string, DefaultVerification> judged_;  ///< by op and dtype
};

}  // namespace sinter::suite
