#include "bench/constants/measure_constants.h"

#include <algorithm>
#include <functional>
#include <memory>

#include <fmt/format.h>

#include "bench/constants/bytes_needed.h"
#include "bench/constants/probe_kernels.h"
#include "bench/device/device_kernel.h"
#include "bench/suite/timing.h"
#include "compiler/target/measured_constants.h"
#include "runtime/device/device_state.h"

namespace sinter::constants {

namespace {

using measured::DeviceKernel;
using suite::CapturedCalls;
using suite::Measured;

class Measurement {
 public:
  Measurement(const Device& device, const MeasureSettings& settings)
      : device_(device),
        settings_(settings),
        target_(device.state()->target),
        stream_(device.stream()),
        from_(device.empty(f32, {bytes_of_stream() / 4})),
        to_(device.empty(f32, {bytes_of_stream() / 4})),
        arrivals_(device.empty(u32, {64})),
        write_(device, write_kernel()) {
    const std::vector<std::uint32_t> zeros(static_cast<std::size_t>(arrivals_.bytes()) / 4);
    device.upload(arrivals_, zeros, stream_);
    write(from_);  // it is read later
    stream_.synchronize();
  }

  double bandwidth() {
    if (copy_rate_ > 0) return copy_rate_;
    const DeviceKernel kernel(device_, copy_kernel());
    copy_kernel_us_ = us_of([&] {
      kernel.launch(stream_, pieces(), float_pointer(from_), float_pointer(to_), vectors());
    });
    memcpy_us_ = us_of([&] { device_.copy(from_, to_, stream_); });
    return copy_rate_ = rate(2 * bytes(), std::min(copy_kernel_us_, memcpy_us_));
  }
  double copy_kernel_rate() { return bandwidth(), rate(2 * bytes(), copy_kernel_us_); }
  double memcpy_rate() { return bandwidth(), rate(2 * bytes(), memcpy_us_); }
  double write_rate() {
    return rate(bytes(), us_of([&] { write(to_); }));
  }

  double read_rate() {
    run_reads();
    return rate(bytes(), *std::ranges::min_element(read_us_));
  }
  double bytes_in_flight() {
    run_reads();
    const double fastest = *std::ranges::min_element(read_us_);
    std::vector<RunInFlight> runs;
    for (std::size_t i = 0; i < read_us_.size(); ++i)
      runs.push_back(
          {.bytes_in_flight = read_in_flight_[i], .relative_time = read_us_[i] / fastest});
    return bytes_needed(runs);
  }

  double launch_seconds() {
    const DeviceKernel kernel(device_, nothing_kernel());
    const auto graph = [&](int nodes) {
      return std::make_shared<CapturedCalls>(stream_, nodes, [&](int) { launch(kernel); });
    };
    const auto few = graph(few_launches()), many = graph(many_launches());
    return per_repetition([&] { few->launch(); }, [&] { many->launch(); }, few_launches(),
                          many_launches());
  }
  double stream_launch_seconds() {
    const DeviceKernel kernel(device_, nothing_kernel());
    const auto launches = [&](int count) {
      for (int i = 0; i < count; ++i) launch(kernel);
    };
    return per_repetition(launches, few_launches(), many_launches());
  }

  /// As many blocks as horizontally fused kernels usually have: 512 threads per SM.
  double barrier_seconds() {
    const DeviceKernel kernel(device_, grid_barriers_kernel());
    const std::int64_t grid =
        std::min<std::int64_t>(2 * target_.sm_count, kernel.resident_blocks());
    const auto barriers = [&](int count) {
      kernel.launch(stream_, grid, static_cast<void*>(arrivals_.pointer()), count);
    };
    return per_repetition(barriers, few_rounds(), many_rounds());
  }
  double cluster_barrier_seconds() {
    if (target_.max_cluster == 1)
      throw UserError(fmt::format("{} has no clusters", device_.name()));
    const DeviceKernel kernel(device_, cluster_barriers_kernel(target_.max_cluster));
    const std::int64_t clusters = std::max(clusters_at_once(target_, target_.max_cluster), 1);
    const auto barriers = [&](int count) {
      kernel.launch(stream_, clusters * target_.max_cluster, count);
    };
    return per_repetition(barriers, few_rounds(), many_rounds());
  }

  double cooperative_loss() {
    const DeviceKernel leaving(device_, copy_kernel()), staying(device_, staying_copy_kernel());
    const std::int64_t grid = std::min(staying.resident_blocks(), pieces());
    std::vector<Measured> both = {{.work =
                                       [&] {
                                         leaving.launch(stream_, pieces(), float_pointer(from_),
                                                        float_pointer(to_), vectors());
                                       }},
                                  {.work = [&] {
                                    staying.launch(stream_, grid, float_pointer(from_),
                                                   float_pointer(to_), vectors());
                                  }}};
    measure_interleaved(both, settings_.repeats, stream_);
    return std::max(1 - median(both[0]) / median(both[1]), 0.0);
  }

  double tile_copy_seconds() {
    const DeviceKernel kernel(device_, tile_copies_kernel());
    const auto copies = [&](int rounds) {
      kernel.launch(stream_, target_.sm_count, float_pointer(from_), float_pointer(to_), rounds);
    };
    const int most = static_cast<int>(
        std::min<std::int64_t>(many_rounds(), bytes() / (kTileBytes * target_.sm_count)));
    const double seconds = per_repetition(copies, most / 4, most);
    return std::max(seconds - tile_bytes_of_all() / bandwidth(), 0.0);
  }
  double tile_speedup() {
    const DeviceKernel kernel(device_, tile_work_kernel());
    const auto work = [&](int rounds) {
      kernel.launch(stream_, target_.sm_count, float_pointer(to_), rounds);
    };
    const double seconds = per_repetition(work, few_rounds(), many_rounds());
    return 2 * tile_bytes_of_all() / seconds / bandwidth();
  }

 private:
  /// Far more than fits in the L2 cache, and at least eight tiles per SM.
  std::int64_t bytes_of_stream() const {
    const std::int64_t tiles = 8 * kTileBytes * target_.sm_count;
    if (settings_.is_short) return tiles;
    constexpr std::int64_t kLargest = std::int64_t{2} << 30;
    return std::clamp(16 * target_.l2_bytes, tiles, kLargest) / kVectorBytes * kVectorBytes;
  }
  std::int64_t bytes() const { return from_.bytes(); }
  long long vectors() const { return bytes() / kVectorBytes; }
  std::int64_t pieces() const { return (vectors() + kVectorsPerBlock - 1) / kVectorsPerBlock; }
  double tile_bytes_of_all() const { return static_cast<double>(kTileBytes) * target_.sm_count; }
  int few_launches() const { return settings_.is_short ? 1 : 50; }
  int many_launches() const { return settings_.is_short ? 3 : 450; }
  int few_rounds() const { return settings_.is_short ? 2 : 16; }
  int many_rounds() const { return settings_.is_short ? 4 : 144; }

  static void* float_pointer(const Array& array) { return array.pointer(); }
  static double median(const Measured& measured) { return quartiles_of(measured.call_us).median; }
  static double rate(std::int64_t moved, double us) {
    return static_cast<double>(moved) / us * 1e6;
  }

  void launch(const DeviceKernel& kernel) {
    kernel.launch(stream_, target_.sm_count, static_cast<void*>(arrivals_.pointer()));
  }
  void write(const Array& to) { write_.launch(stream_, pieces(), float_pointer(to), vectors()); }

  double us_of(const std::function<void()>& work) {
    std::vector<Measured> one = {{.work = work}};
    measure_interleaved(one, settings_.repeats, stream_);
    return median(one[0]);
  }
  /// The seconds that one more repetition takes, by runs of `few` and of `many`.
  double per_repetition(const std::function<void()>& run_few, const std::function<void()>& run_many,
                        int few, int many) {
    std::vector<Measured> both = {{.work = run_few}, {.work = run_many}};
    measure_interleaved(both, settings_.repeats, stream_);
    return (median(both[1]) - median(both[0])) * 1e-6 / (many - few);
  }
  double per_repetition(const std::function<void(int)>& run, int few, int many) {
    return per_repetition([&] { run(few); }, [&] { run(many); }, few, many);
  }

  /// Reads with one block per SM and more and more loads in flight.
  void run_reads() {
    if (!read_us_.empty()) return;
    for (const int threads :
         settings_.is_short ? std::vector{256} : std::vector{128, 256, 512, 1024})
      for (const int loads : settings_.is_short ? std::vector{4} : std::vector{1, 2, 4, 8}) {
        const DeviceKernel kernel(device_, constants::read_kernel(threads, loads));
        // The machine code may have fewer in flight. There is none with SINTER_PTX.
        const std::int64_t per_thread =
            kernel.bytes_in_flight() > 0 ? kernel.bytes_in_flight() : loads * kVectorBytes;
        read_in_flight_.push_back(static_cast<double>(per_thread * threads));
        read_us_.push_back(us_of([&] {
          kernel.launch(stream_, target_.sm_count, float_pointer(from_), float_pointer(to_),
                        vectors());
        }));
      }
  }

  static constexpr std::int64_t kVectorBytes = 4 * kVector;

  Device device_;
  MeasureSettings settings_;
  const Target& target_;
  Stream stream_;
  Array from_, to_;
  Array arrivals_;
  DeviceKernel write_;
  double copy_rate_ = 0;
  double copy_kernel_us_ = 0;
  double memcpy_us_ = 0;
  std::vector<double> read_us_;
  std::vector<double> read_in_flight_;
};

/// The figures, and how each is measured. Constants have the names of target files.
struct Probe {
  const char* name;
  double (Measurement::*measure)();
};
constexpr Probe kProbes[] = {
    {"bandwidth", &Measurement::bandwidth},
    {"bytes_in_flight", &Measurement::bytes_in_flight},
    {"launch_seconds", &Measurement::launch_seconds},
    {"stream_launch_seconds", &Measurement::stream_launch_seconds},
    {"barrier_seconds", &Measurement::barrier_seconds},
    {"cluster_barrier_seconds", &Measurement::cluster_barrier_seconds},
    {"cooperative_loss", &Measurement::cooperative_loss},
    {"tile_copy_seconds", &Measurement::tile_copy_seconds},
    {"tile_speedup", &Measurement::tile_speedup},
    {"copy_bytes_per_second", &Measurement::copy_kernel_rate},
    {"memcpy_bytes_per_second", &Measurement::memcpy_rate},
    {"read_bytes_per_second", &Measurement::read_rate},
    {"write_bytes_per_second", &Measurement::write_rate},
};

}  // namespace

std::vector<Figure> measure_constants(const Device& device, const MeasureSettings& settings) {
  Measurement measurement(device, settings);
  std::vector<Figure> figures;
  for (const Probe& probe : kProbes) {
    Figure& figure = figures.emplace_back();
    figure.name = probe.name;
    try {
      figure.value = (measurement.*probe.measure)();
      device.synchronize();
    } catch (const Error& error) {
      figure.problem = error.what();
    }
  }
  return figures;
}

}  // namespace sinter::constants
