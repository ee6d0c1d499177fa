// Measures one case: compiles it, checks its results, and times it in turns with copies.
#include "bench/suite/measure_case.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "bench/suite/case_data.h"
#include "bench/suite/graph_size.h"
#include "ir/support/elapsed.h"
#include "runtime/device/device_state.h"

namespace sinter::suite {

namespace {

constexpr std::int64_t kMaxCheckedBytes = 1 << 18;  // larger cases are checked at tiny sizes only
constexpr std::int64_t kAssumedL2Bytes = std::int64_t{60} << 20;  // the L2 size that peers assume
constexpr int kLoopCalls = 50;                                    // mode L: calls per loop
constexpr int kSingleCalls = 200;         // mode E: calls with a wait after each
constexpr int kAsynchronousCalls = 1000;  // mode E: calls with one wait

constexpr const char* kCopyText = "graph copy(x: f32[n]) {\n  return y = x\n}\n";

/// Returns all cached memory of the device to the driver.
void trim(const Device& device) {
  device.synchronize();
  device.trim();
}

/// True for cases whose traffic is almost only reads.
bool is_reduction(const Row& row) {
  return row.group.ends_with(" reduce") || row.group == "cross-entropy";
}

}  // namespace

/// A compiled case with its memory, and copies that move the same number of bytes.
struct CaseRunner::Prepared {
  Prepared(const Case& measured, const Graph& graph, const Executable& program,
           const Executable& copy, int sets, const Stream& stream)
      : context(program.context()),
        copy_context(copy.context()),
        data(graph, measured, sets, stream),
        bindings(data.bind(context)) {
    const std::int64_t room = std::max<std::int64_t>(measured.bytes / 2 / 1024 + 1, 1) * 256;
    targets_memory = stream.device().empty(f32, {room * sets});
    for (int set = 0; set < sets; ++set) {
      const Array source = data.source(set);
      const std::int64_t count =
          std::max<std::int64_t>(std::min(measured.bytes / 2, source.bytes()) / 4, 1);
      from.push_back(source.view(0, f32, {count}));
      targets.push_back(targets_memory->view(4 * room * set, f32, {count}));
      copies.push_back(copy_context.bind({{"x", from.back()}}, {{"y", targets.back()}}));
    }
  }

  std::size_t set(int call) const { return static_cast<std::size_t>(call) % bindings.size(); }
  void run(int call, const Stream& stream) { context.run(stream, bindings[set(call)]); }
  void copy_by_kernel(int call, const Stream& stream) {
    copy_context.run(stream, copies[set(call)]);
  }
  void copy_by_driver(int call, const Stream& stream) {
    stream.device().copy(from[set(call)], targets[set(call)], stream);
  }

  Context context;
  Context copy_context;
  CaseData data;
  std::vector<Bindings> bindings;
  std::optional<Array> targets_memory;
  std::vector<Array> from, targets;
  std::vector<Bindings> copies;
};

CaseRunner::CaseRunner(Device device, const MeasureSettings& settings)
    : device_(device),
      settings_(settings),
      stream_(device.stream()),
      nvml_(device.ordinal()),
      copy_(compile(parse(kCopyText), device, options_from_environment())),
      read_(device) {
  if (!device.is_host() && !read_.reason().empty())
    fmt::print(stderr, "suite_bench: reductions have no read_us: {}\n", read_.reason());
}

std::int64_t CaseRunner::free_bytes() const {
  const DeviceState& state = *device_.state();
  const CurrentContext current(state);
  std::size_t free = 0;
  std::size_t total = 0;
  check(state.driver, state.driver.cuMemGetInfo(&free, &total), "cuMemGetInfo", "a benchmark");
  return static_cast<std::int64_t>(free);
}

int CaseRunner::sets_for(std::int64_t set_bytes, int kernels) const {
  if (settings_.is_short) return 2;
  return sets_of(set_bytes, std::max(device_.state()->target.l2_bytes, kAssumedL2Bytes), kernels);
}

void CaseRunner::check_case(const Case& measured, Options options, Row& row) {
  options.tune = Tune::off;  // every schedule gives the same bits
  const std::string key = measured.op + " " + measured.dtype;
  if (!tiny_checks_.contains(key))
    tiny_checks_[key] = check_results(measured.tiny_text, measured.seed, device_, options);
  row.result_check = tiny_checks_[key];
  if (row.result_check.problem.empty() && measured.text != measured.tiny_text &&
      measured.bytes <= kMaxCheckedBytes) {
    const ResultCheck own = check_results(measured.text, measured.seed, device_, options);
    row.result_check.worst = std::max(row.result_check.worst, own.worst);
    row.result_check.elements += own.elements;
    row.result_check.problem = own.problem;
  }
  if (!row.result_check.problem.empty()) {
    row.status = "wrong";
    row.reason = row.result_check.problem;
  }
}

/// Measures `own` in turns with two copies and, for reductions, the read kernel. Fills in all
/// times.
void CaseRunner::measure_with_copies(Row& row, Measured own, Prepared& prepared, bool as_graph) {
  using Call = std::function<void(int)>;
  std::vector<Call> references = {[&](int i) { prepared.copy_by_kernel(i, stream_); },
                                  [&](int i) { prepared.copy_by_driver(i, stream_); }};
  if (is_reduction(row) && read_.reason().empty())
    references.push_back([&](int i) {
      const Array source = prepared.data.source(static_cast<int>(prepared.set(i)));
      read_.read(source.view(0, boolean, {std::min(row.bytes, source.bytes())}), stream_);
    });
  prepared.copy_by_kernel(0, stream_);  // compiles, and tunes for the size
  std::vector<Measured> all = {std::move(own)};
  for (const Call& call : references) {
    if (as_graph) {
      const auto graph = std::make_shared<CapturedCalls>(stream_, row.calls, call);
      all.push_back({.work = [graph] { graph->launch(); }, .calls = row.calls});
    } else {
      all.push_back({.work =
                         [call, calls = row.calls] {
                           for (int i = 0; i < calls; ++i) call(i);
                         },
                     .calls = row.calls});
    }
  }
  measure_interleaved(all, settings_.repeats, stream_);
  row.call_us = quartiles_of(all[0].call_us);
  row.copy_us = quartiles_of(all[1].call_us);
  row.memcpy_us = quartiles_of(all[2].call_us);
  if (all.size() > 3) row.read_us = quartiles_of(all[3].call_us);
}

Row CaseRunner::in_graph(const Case& measured, const Row& first, Prepared& prepared) {
  Row row = first;
  row.calls = settings_.is_short ? row.sets : calls_of(measured.bytes, row.sets, measured.kernels);
  const auto graph =
      std::make_shared<CapturedCalls>(stream_, row.calls, [&](int i) { prepared.run(i, stream_); });
  measure_with_copies(row, {.work = [graph] { graph->launch(); }, .calls = row.calls}, prepared,
                      /*as_graph=*/true);
  return row;
}

Row CaseRunner::in_loop(const Row& first, Prepared& prepared) {
  Row row = first;
  row.mode = 'L';
  row.calls = settings_.is_short ? 2 : kLoopCalls;
  const auto loop = [&] {
    for (int i = 0; i < row.calls; ++i) prepared.run(i, stream_);
  };
  measure_with_copies(row, {.work = loop, .calls = row.calls}, prepared, /*as_graph=*/false);
  return row;
}

std::vector<Row> CaseRunner::one_by_one(const Row& first, Prepared& prepared) {
  const int calls = settings_.is_short ? 3 : kSingleCalls;
  const int together = settings_.is_short ? 3 : kAsynchronousCalls;
  const auto fill = [&](std::string_view system, const std::function<void(int)>& call) {
    Row row = first;
    row.mode = 'E';
    row.system = system;
    row.calls = calls;
    row.call_us = quartiles_of(synchronised_us(call, calls, stream_));
    row.asynchronous_us = asynchronous_us(call, together, stream_);
    return row;
  };
  std::vector<Row> rows;
  rows.push_back(fill("sinter", [&](int i) { prepared.run(i, stream_); }));
  rows.push_back(
      fill("sinter_replay", [&](int) { prepared.context.replay(stream_, prepared.bindings[0]); }));
  const Quartiles copy = quartiles_of(
      synchronised_us([&](int i) { prepared.copy_by_kernel(i, stream_); }, calls, stream_));
  const Quartiles memcpy = quartiles_of(
      synchronised_us([&](int i) { prepared.copy_by_driver(i, stream_); }, calls, stream_));
  for (Row& row : rows) {
    row.copy_us = copy;
    row.memcpy_us = memcpy;
  }
  return rows;
}

std::vector<Row> CaseRunner::measure(const Case& measured) {
  Row first{
      .name = measured.name, .group = measured.group, .system = "sinter", .bytes = measured.bytes};
  Options options = options_from_environment();
  options.fuse = measured.kernels == 1;
  options.optimize_host = !settings_.is_short;
  const Graph graph = parse(measured.text);
  const std::int64_t set_bytes = CaseData::bytes_of_set(graph, measured.offset);
  first.sets = sets_for(set_bytes, measured.kernels);
  trim(device_);
  const std::int64_t needed = first.sets * (set_bytes + measured.bytes / 2);
  if (const std::int64_t free = free_bytes(); needed > free / 10 * 9) {
    first.status = "not_run";
    first.reason = fmt::format("it needs {} MiB, {} are free", needed >> 20, free >> 20);
    return {first};
  }

  const auto start = std::chrono::steady_clock::now();
  const Executable program = compile(graph, device_, options);
  program.prepare({}, Views::written);
  first.prepare_ms = milliseconds_since(start);
  for (const KernelReport& kernel : program.report().kernels) {
    first.kernels += kernel.launches;
    first.planned_bytes += kernel.launches * (kernel.bytes_read + kernel.bytes_written);
  }
  Prepared prepared(measured, graph, program, copy_, first.sets, stream_);
  prepared.context.run(stream_, prepared.bindings[0]);
  stream_.synchronize();
  check_case(measured, options, first);
  if (const std::string place = prepared.data.unwritten(stream_); !place.empty()) {
    first.status = "wrong";
    first.reason = place + " was not written";
  }
  if (first.status != "ok") return {first};

  std::vector<Row> rows;
  const auto is_wanted = [&](char mode) {
    return measured.modes.find(mode) != std::string::npos &&
           settings_.modes.find(mode) != std::string::npos;
  };
  if (is_wanted('K')) rows.push_back(in_graph(measured, first, prepared));
  if (is_wanted('L')) rows.push_back(in_loop(first, prepared));
  if (is_wanted('E'))
    for (Row& row : one_by_one(first, prepared)) rows.push_back(std::move(row));
  for (Row& row : rows) row.clocks = nvml_.clocks();
  return rows;
}

std::vector<Row> CaseRunner::run(const Case& measured) {
  try {
    return measure(measured);
  } catch (const std::exception& error) {
    return {{.name = measured.name,
             .group = measured.group,
             .system = "sinter",
             .status = "failed",
             .reason = error.what(),
             .bytes = measured.bytes}};
  }
}

}  // namespace sinter::suite
