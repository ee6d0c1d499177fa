#include "compiler/target/measured_constants.h"

#include <algorithm>
#include <cstdint>

namespace sinter {

namespace {

template <auto kField>
void set_field(Target& target, double value) {
  target.*kField = static_cast<std::remove_reference_t<decltype(target.*kField)>>(value);
}
template <auto kField>
double field(const Target& target) {
  return static_cast<double>(target.*kField);
}

template <auto kField>
constexpr MeasuredConstant constant(std::string_view name, std::string_view unit, double low,
                                    double high) {
  return {.name = name,
          .unit = unit,
          .low = low,
          .high = high,
          .set = set_field<kField>,
          .get = field<kField>};
}

// The ranges only exclude wrong units and failed measurements.
constexpr MeasuredConstant kConstants[] = {
    constant<&Target::bandwidth>("bandwidth", "bytes per second", 1e10, 1e14),
    constant<&Target::bytes_in_flight>("bytes_in_flight", "bytes per SM", 512, 1 << 20),
    constant<&Target::launch_seconds>("launch_seconds", "seconds", 1e-8, 1e-3),
    constant<&Target::stream_launch_seconds>("stream_launch_seconds", "seconds", 1e-8, 1e-3),
    constant<&Target::barrier_seconds>("barrier_seconds", "seconds", 1e-8, 1e-3),
    constant<&Target::cluster_barrier_seconds>("cluster_barrier_seconds", "seconds", 1e-8, 1e-3),
    constant<&Target::cooperative_loss>("cooperative_loss", "of the bandwidth", 0, 0.9),
    constant<&Target::tile_copy_seconds>("tile_copy_seconds", "seconds", 0, 1e-3),
    constant<&Target::tile_speedup>("tile_speedup", "times memory", 0.1, 100),
};

}  // namespace

std::span<const MeasuredConstant> measured_constants() { return kConstants; }

const MeasuredConstant* find_measured_constant(std::string_view name) {
  const auto* const found = std::ranges::find(kConstants, name, &MeasuredConstant::name);
  return found == std::end(kConstants) ? nullptr : found;
}

}  // namespace sinter
