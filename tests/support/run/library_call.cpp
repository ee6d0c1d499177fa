#include "tests/support/run/library_call.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

#include <fmt/format.h>

#include "ir/types/casts.h"
#include "ir/types/element.h"
#include "runtime/device/device_state.h"

namespace sinter::test {

namespace {

CallArray filled(DType dtype, std::vector<std::int64_t> shape, const auto& next) {
  CallArray array{.dtype = dtype, .shape = std::move(shape)};
  for (std::int64_t i = 0; i < array.elements(); ++i) array.values.push_back(next());
  return array;
}

std::vector<std::byte> bytes_of(const CallArray& array) {
  const int size = size_of(array.dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(array.elements() * size));
  for (std::size_t i = 0; i < array.values.size(); ++i) {
    std::byte* const place = bytes.data() + i * static_cast<std::size_t>(size);
    if (is_floating(array.dtype))
      write_real(array.dtype, place, array.values[i]);
    else
      write_integer(array.dtype, place, static_cast<Wide>(array.values[i]));
  }
  return bytes;
}

Array array_of(const CallArray& array, const Device& device, std::int64_t offset) {
  const Array all = device.empty(array.dtype, {array.elements() + offset});
  return all.view(offset * size_of(array.dtype), array.dtype, array.shape);
}

/// The arrays of a call on a device, and the call itself.
struct DeviceCall {
  DeviceCall(const LibraryCall& library_call, const Device& device, std::int64_t offset = 0)
      : result(array_of(library_call.result, device, offset)) {
    for (const CallArray& input : library_call.inputs) {
      inputs.push_back(array_of(input, device, offset));
      descriptions.push_back({.dtype = input.dtype, .shape = input.shape});
    }
    output = {.dtype = library_call.result.dtype, .shape = library_call.result.shape};
    call.inputs = descriptions;
    call.outputs = {&output, 1};
    call.attributes = library_call.attributes;
    call.is_host_device = device.is_host();
    call.device = device.ordinal();
  }
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;

  std::vector<Array> inputs;
  Array result;
  std::vector<OpaqueArray> descriptions;
  OpaqueArray output;
  OpaqueCall call;
};

void enqueue_call(const OpaqueFunction& function, const OpaqueCall& call) {
  if (const int code = function.enqueue(call); code != 0)
    throw std::runtime_error(fmt::format("the function returned {}", code));
}

/// Captures the call and launches its CUDA Graph twice.
void enqueue_graph(const OpaqueFunction& function, const OpaqueCall& call, const Device& device) {
  const DeviceState& state = *device.state();
  const Driver& driver = state.driver;
  const CurrentContext current(state);
  const auto stream = static_cast<CUstream>(call.stream);
  check(driver, driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
        "cuStreamBeginCapture", "a call");
  CUgraph graph = nullptr;
  try {
    enqueue_call(function, call);
  } catch (...) {
    driver.cuStreamEndCapture(stream, &graph);
    throw;
  }
  check(driver, driver.cuStreamEndCapture(stream, &graph), "cuStreamEndCapture", "a call");
  CUgraphExec executable = nullptr;
  check(driver, driver.cuGraphInstantiateWithFlags(&executable, graph, 0),
        "cuGraphInstantiateWithFlags", "a call");
  for (int i = 0; i < 2; ++i)
    check(driver, driver.cuGraphLaunch(executable, stream), "cuGraphLaunch", "a call");
  check(driver, driver.cuStreamSynchronize(stream), "cuStreamSynchronize", "a call");
  driver.cuGraphExecDestroy(executable);
  driver.cuGraphDestroy(graph);
}

}  // namespace

std::int64_t CallArray::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

CallArray small_numbers(DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  return filled(dtype, std::move(shape), [&] {
    const int number = static_cast<int>(random() % 9) - 4;
    return is_floating(dtype) ? number / 2.0 : number;
  });
}

CallArray random_numbers(DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  return filled(dtype, std::move(shape), [&] {
    const double number = std::ldexp(static_cast<double>(random() >> 11), -52) - 1;
    return is_floating(dtype) ? round_to(dtype, number) : std::floor(number * 128);
  });
}

LibraryCall matmul_call(CallArray a, CallArray b, DType result, const MatmulSettings& settings) {
  const std::size_t rank = std::max(a.shape.size(), b.shape.size());
  std::vector<std::int64_t> shape(rank, 1);
  for (const CallArray* operand : {&a, &b})
    for (std::size_t i = 0; i + 2 < operand->shape.size(); ++i) {
      std::int64_t& extent = shape[rank - operand->shape.size() + i];
      if (operand->shape[i] != 1) extent = operand->shape[i];
    }
  shape[rank - 2] = a.shape[a.shape.size() - (settings.transpose_a ? 1 : 2)];
  shape[rank - 1] = b.shape[b.shape.size() - (settings.transpose_b ? 2 : 1)];
  return {.inputs = {std::move(a), std::move(b)},
          .result = {.dtype = result, .shape = std::move(shape)},
          .attributes = {{"transpose_a", settings.transpose_a},
                         {"transpose_b", settings.transpose_b},
                         {"allow_tf32", settings.allow_tf32}}};
}

LibraryCall conv_call(ConvKind kind, DType dtype, const std::vector<std::int64_t>& x,
                      const std::vector<std::int64_t>& w, const ConvSettings& settings) {
  const std::size_t axes = x.size() - 2;
  const auto list = [&](const std::vector<std::int64_t>& values, std::int64_t otherwise) {
    return values.empty() ? std::vector<std::int64_t>(axes, otherwise) : values;
  };
  const auto strides = list(settings.strides, 1), dilations = list(settings.dilations, 1);
  const auto begin = list(settings.padding_begin, 0);
  const auto end = settings.padding_end.empty() ? begin : settings.padding_end;
  std::vector<std::int64_t> y = {x[0], w[0]};
  for (std::size_t i = 0; i < axes; ++i)
    y.push_back((x[i + 2] + begin[i] + end[i] - dilations[i] * (w[i + 2] - 1) - 1) / strides[i] +
                1);
  const auto numbers = [&](const std::vector<std::int64_t>& shape, std::uint64_t seed) {
    return settings.is_exact ? small_numbers(dtype, shape, seed)
                             : random_numbers(dtype, shape, seed);
  };
  const bool is_forward = kind == ConvKind::forward;
  const bool is_of_data = kind == ConvKind::data_gradient;
  return {.inputs = {numbers(is_of_data ? y : x, 2), numbers(is_forward || is_of_data ? w : y, 3)},
          .result = {.dtype = dtype,
                     .shape = is_forward   ? y
                              : is_of_data ? x
                                           : w},
          .attributes = {{"strides", strides},
                         {"dilations", dilations},
                         {"padding_begin", begin},
                         {"padding_end", end},
                         {"groups", settings.groups},
                         {"allow_tf32", settings.allow_tf32}}};
}

std::vector<std::byte> run_call(const OpaqueFunction& function, const LibraryCall& library_call,
                                const Device& device, const CallOptions& options) {
  DeviceCall made(library_call, device, options.offset);
  OpaqueCall& call = made.call;
  function.check(call);
  const Stream stream = device.stream();
  for (std::size_t i = 0; i < made.inputs.size(); ++i) {
    device.upload(made.inputs[i], bytes_of(library_call.inputs[i]).data(), stream);
    made.descriptions[i].data = made.inputs[i].pointer();
  }
  made.output.data = made.result.pointer();
  // Results must not depend on the memory's contents.
  device.upload(made.result, std::vector<std::uint8_t>(made.result.bytes(), 0xff).data(), stream);
  call.workspace_bytes = function.workspace(call);
  const Array workspace = device.empty(u8, {call.workspace_bytes});
  if (call.workspace_bytes > 0) call.workspace = workspace.pointer();
  call.stream = stream.handle();
  call.add_host_work = [&](const std::function<void()>& work) {
    if (!device.is_host()) throw std::logic_error("a GPU's call has work for the host");
    work();
  };
  stream.synchronize();
  if (options.as_graph)
    enqueue_graph(function, call, device);
  else
    enqueue_call(function, call);
  stream.synchronize();
  std::vector<std::byte> bytes(static_cast<std::size_t>(made.result.bytes()));
  device.download(made.result, bytes.data(), stream);
  stream.synchronize();
  return bytes;
}

std::string refusal_of(const OpaqueFunction& function, const LibraryCall& library_call,
                       const Device& device) {
  const DeviceCall made(library_call, device);
  try {
    function.check(made.call);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

std::vector<double> values_of(DType dtype, const std::vector<std::byte>& bytes) {
  std::vector<double> values;
  for (std::size_t at = 0; at < bytes.size(); at += static_cast<std::size_t>(size_of(dtype)))
    values.push_back(is_floating(dtype) ? read_real(dtype, bytes.data() + at)
                                        : static_cast<double>(read_integer(dtype, &bytes[at])));
  return values;
}

namespace {

/// Describes the first element for which `is_right(value, sum)` is false.
std::string first_difference(const LibraryCall& call, const std::vector<std::byte>& bytes,
                             const std::vector<ExpectedSum>& expected, const auto& is_right) {
  const std::vector<double> values = values_of(call.result.dtype, bytes);
  if (values.size() != expected.size())
    return fmt::format("{} elements, expected {}", values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!is_right(values[i], expected[i]))
      return fmt::format("element {} of {} is {}, expected {}", i, values.size(), values[i],
                         static_cast<double>(expected[i].value));
  return {};
}

}  // namespace

std::string exact_difference(const LibraryCall& call, const std::vector<std::byte>& bytes,
                             const std::vector<ExpectedSum>& expected) {
  const DType dtype = call.result.dtype;
  return first_difference(call, bytes, expected, [&](double value, const ExpectedSum& sum) {
    return is_floating(dtype) ? value == round_to(dtype, sum.value)
                              : value == static_cast<double>(sum.value);
  });
}

std::string difference(const LibraryCall& call, const std::vector<std::byte>& bytes,
                       const std::vector<ExpectedSum>& expected, double operand_error) {
  const DType dtype = call.result.dtype;
  std::int64_t length = 1;  // at least the number of products of a sum
  for (const CallArray& input : call.inputs) length = std::max(length, input.elements());
  // The error of a sum grows with the square root of its length, unless all errors have one sign.
  const double of_additions =
      (dtype == f64 ? 0x1p-52 : 0x1p-23) * (4 + std::sqrt(static_cast<double>(length)));
  return first_difference(call, bytes, expected, [&](double value, const ExpectedSum& sum) {
    const long double of_sum = sum.magnitude * (of_additions + operand_error);
    const long double of_result = ulp_at(dtype, static_cast<double>(sum.value)) * 0.5L;
    return std::fabs(value - sum.value) <= of_sum + of_result;
  });
}

}  // namespace sinter::test
