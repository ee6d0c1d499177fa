#include "runtime/tuning_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "ir/element.h"
#include "ir/extent.h"
#include "ir/node.h"
#include "ir/rounding.h"
#include "ir/steps.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr std::int64_t kPartAlignment = 256;
constexpr std::int64_t kPatternBytes = 1 << 20;

std::int64_t aligned(std::int64_t bytes) { return round_up(bytes, kPartAlignment); }

/// The range of the numbers in a buffer: as recorded for an input, else small numbers.
struct NumberRange {
  double low = -2;
  double high = 2;
};

NumberRange range_of(const Program& program, const Buffer& buffer) {
  NumberRange range = is_integer(buffer.dtype) ? NumberRange{0, 64} : NumberRange{};
  if (buffer.kind != Buffer::Kind::input) return range;
  const InputInfo& input = program.graph->data().inputs[static_cast<std::size_t>(buffer.index)];
  return {input.low.value_or(std::min(range.low, input.high.value_or(range.low))),
          input.high.value_or(std::max(range.high, input.low.value_or(range.high)))};
}

std::vector<std::byte> random_pattern(DType dtype, std::int64_t bytes, NumberRange range) {
  std::mt19937_64 random(0x5eed);  // the same numbers in every run
  std::uniform_real_distribution<double> real(range.low, range.high);
  std::vector<std::byte> result(static_cast<std::size_t>(bytes));
  const auto size = static_cast<std::size_t>(size_of(dtype));
  for (std::size_t i = 0; i + size <= result.size(); i += size) {
    std::byte* const place = result.data() + i;
    if (is_floating(dtype))
      write_real(dtype, place, real(random));
    else
      write_integer(dtype, place,
                    dtype == boolean ? static_cast<Wide>(random() & 1)
                                     : cast_to_integer(dtype, std::floor(real(random))));
  }
  return result;
}

bool is_nan(DType dtype, const std::byte* element) {
  return is_floating(dtype) && std::isnan(read_real(dtype, element));
}

bool equal_elements(DType dtype, const std::byte* a, const std::byte* b, std::size_t bytes) {
  if (std::memcmp(a, b, bytes) == 0) return true;
  const auto size = static_cast<std::size_t>(size_of(dtype));
  for (std::size_t i = 0; i < bytes; i += size)
    if (std::memcmp(a + i, b + i, size) != 0 && !(is_nan(dtype, a + i) && is_nan(dtype, b + i)))
      return false;
  return true;
}

/// What any candidate touches, each once.
std::vector<int> buffers_of_all(std::span<const Source> sources) {
  std::vector<int> buffers;
  for (const Source& source : sources)
    for (const int buffer : buffers_of(source))
      if (std::ranges::find(buffers, buffer) == buffers.end()) buffers.push_back(buffer);
  return buffers;
}

bool touches(const Source& source, int buffer) {
  const std::vector<int> buffers = buffers_of(source);
  return std::ranges::find(buffers, buffer) != buffers.end();
}

}  // namespace

std::int64_t TuningData::bytes_per_set(const Request& request) {
  std::int64_t bytes = aligned(request.workspace_bytes) +
                       aligned(request.tickets * static_cast<std::int64_t>(sizeof(unsigned)));
  for (const int number : buffers_of_all(request.sources)) {
    const Buffer& buffer = request.program.buffers[static_cast<std::size_t>(number)];
    // One unit more, for pointers that are less aligned on purpose.
    bytes += aligned(bytes_of(buffer, request.symbols)) + kPartAlignment;
  }
  return bytes;
}

void TuningData::lay_out(const Request& request) {
  const std::int64_t misalignment = request.alignment >= 16 ? 0 : request.alignment;
  DenseSet<int> written;
  for (const Store& store : request.kernel.stores) written.insert(store.buffer);
  for (const int number : buffers_of_all(request.sources)) {
    const Buffer& buffer = request.program.buffers[static_cast<std::size_t>(number)];
    part_of_[number] = parts_.size();
    parts_.push_back({.buffer = number,
                      .dtype = buffer.dtype,
                      .offset = set_bytes_ + misalignment,
                      .bytes = bytes_of(buffer, symbols_),
                      .is_written = written.contains(number)});
    parts_.back().is_compared =
        parts_.back().is_written && std::ranges::all_of(request.sources, [&](const Source& source) {
          return touches(source, number);
        });
    set_bytes_ += aligned(parts_.back().bytes) + kPartAlignment;
  }
  workspace_offset_ = set_bytes_;
  set_bytes_ += aligned(request.workspace_bytes);
  ticket_offset_ = set_bytes_;
  set_bytes_ += aligned(request.tickets * static_cast<std::int64_t>(sizeof(unsigned)));
}

TuningData::TuningData(DeviceState& device, const Request& request, int sets, CUstream stream)
    : device_(device),
      stream_(stream),
      program_(request.program),
      symbols_(request.symbols.begin(), request.symbols.end()),
      sets_(sets) {
  lay_out(request);
  memory_ = std::make_unique<DeviceMemory>(device_, set_bytes_ * sets_, "scratch data for tuning");
  const Driver& driver = device_.driver;
  if (set_bytes_ > 0)  // tickets must be 0, and workspaces may be anything
    check(driver,
          driver.cuMemsetD8Async(memory_->pointer, 0, static_cast<std::size_t>(memory_->bytes),
                                 stream_),
          "cuMemsetD8Async", "scratch data for tuning");
  for (const Part& part : parts_) {
    fill(part, address(part, 0));
    for (int set = 1; set < sets_ && part.bytes > 0; ++set)
      check(driver,
            driver.cuMemcpyDtoDAsync(address(part, set), address(part, 0),
                                     static_cast<std::size_t>(part.bytes), stream_),
            "cuMemcpyDtoDAsync", "scratch data for tuning");
  }
}

CUdeviceptr TuningData::address(const Part& part, int set) const {
  return memory_->pointer + static_cast<CUdeviceptr>(set * set_bytes_ + part.offset);
}

/// Uploads a random pattern and doubles it until the part is full.
void TuningData::fill(const Part& part, CUdeviceptr to) {
  if (part.bytes == 0) return;
  const Driver& driver = device_.driver;
  const Buffer& buffer = program_.buffers[static_cast<std::size_t>(part.buffer)];
  std::int64_t filled = std::min(part.bytes, kPatternBytes);
  const std::vector<std::byte> first =
      random_pattern(part.dtype, filled, range_of(program_, buffer));
  check(driver,
        driver.cuMemcpyHtoDAsync(to, first.data(), static_cast<std::size_t>(filled), stream_),
        "cuMemcpyHtoDAsync", "scratch data for tuning");
  while (filled < part.bytes) {
    const std::int64_t more = std::min(filled, part.bytes - filled);
    check(driver,
          driver.cuMemcpyDtoDAsync(to + static_cast<CUdeviceptr>(filled), to,
                                   static_cast<std::size_t>(more), stream_),
          "cuMemcpyDtoDAsync", "scratch data for tuning");
    filled += more;
  }
  // The copy from pageable memory may still be reading the pattern.
  check(driver, driver.cuStreamSynchronize(stream_), "cuStreamSynchronize",
        "scratch data for tuning, or a candidate before");
}

/// Any number but 0 and 1, which are special to many ops.
std::uint64_t TuningData::scalar(int input) const {
  const DType dtype = program_.graph->data().inputs[static_cast<std::size_t>(input)].node->dtype;
  const NumberRange range = is_floating(dtype) ? NumberRange{0.25, 0.75} : NumberRange{2, 8};
  const std::vector<std::byte> number = random_pattern(dtype, size_of(dtype), range);
  std::uint64_t bits = 0;
  std::memcpy(&bits, number.data(), number.size());
  return bits;
}

std::uint64_t TuningData::value(const Argument& argument, int set) const {
  const auto scratch = [&](std::int64_t offset, std::size_t unit) {
    const auto inside = evaluate(argument.extent, symbols_) * static_cast<std::int64_t>(unit);
    return memory_->pointer + static_cast<CUdeviceptr>(set * set_bytes_ + offset + inside);
  };
  switch (argument.kind) {
    case Argument::Kind::buffer: {
      const auto part = part_of_.find(argument.index);
      ensure(part != part_of_.end(), "a candidate touches what no other one was said to");
      return address(parts_[part->second], set);
    }
    case Argument::Kind::scalar: return scalar(argument.index);
    case Argument::Kind::extent:
      return static_cast<std::uint64_t>(evaluate(argument.extent, symbols_));
    case Argument::Kind::workspace: return scratch(workspace_offset_, 1);
    case Argument::Kind::tickets: return scratch(ticket_offset_, sizeof(unsigned));
    case Argument::Kind::table: break;  // has no value of its own
  }
  return 0;
}

CUdeviceptr TuningData::table(const Source& source, int set) const {
  std::unique_ptr<DeviceMemory>& memory = tables_[{&source, set}];
  if (memory) return memory->pointer;
  std::vector<std::uint64_t> values;
  for (const Argument& argument : source.table) values.push_back(value(argument, set));
  const std::size_t bytes = values.size() * sizeof(std::uint64_t);
  memory = std::make_unique<DeviceMemory>(device_, static_cast<std::int64_t>(bytes),
                                          "a table for tuning");
  const Driver& driver = device_.driver;
  check(driver, driver.cuMemcpyHtoDAsync(memory->pointer, values.data(), bytes, stream_),
        "cuMemcpyHtoDAsync", "a table for tuning");
  check(driver, driver.cuStreamSynchronize(stream_), "cuStreamSynchronize",
        "a table for tuning, or a candidate before");
  return memory->pointer;
}

std::vector<std::uint64_t> TuningData::arguments(const Source& source, int set) const {
  std::vector<std::uint64_t> values;
  for (const Argument& argument : source.arguments)
    values.push_back(argument.kind == Argument::Kind::table ? table(source, set)
                                                            : value(argument, set));
  return values;
}

void TuningData::restore(int set) {
  for (const Part& part : parts_)
    if (part.is_written) fill(part, address(part, set));
}

void TuningData::read(const Part& part, int set, std::byte* to) const {
  const Driver& driver = device_.driver;
  check(driver,
        driver.cuMemcpyDtoHAsync(to, address(part, set), static_cast<std::size_t>(part.bytes),
                                 stream_),
        "cuMemcpyDtoHAsync", "results of tuning");
  check(driver, driver.cuStreamSynchronize(stream_), "cuStreamSynchronize",
        "scratch data for tuning, or a candidate before");
}

std::vector<std::byte> TuningData::results(int set) {
  std::vector<std::byte> bytes;
  for (const Part& part : parts_) {
    if (!part.is_compared || part.bytes == 0) continue;
    const std::size_t start = bytes.size();
    bytes.resize(start + static_cast<std::size_t>(part.bytes));
    read(part, set, bytes.data() + start);
  }
  return bytes;
}

HostArray TuningData::array(int buffer) const {
  const auto place = part_of_.find(buffer);
  ensure(place != part_of_.end(), "no candidate touches this buffer");
  const Part& part = parts_[place->second];
  const Buffer& known = program_.buffers[static_cast<std::size_t>(buffer)];
  std::vector<std::int64_t> shape, strides;
  for (const Extent extent : known.node->shape) shape.push_back(evaluate(extent, symbols_));
  for (const Extent extent : known.strides) strides.push_back(evaluate(extent, symbols_));
  HostArray array(part.dtype, std::move(shape), std::move(strides));
  ensure(static_cast<std::int64_t>(array.bytes().size()) == part.bytes,
         "scratch data is not what its array holds");
  if (part.bytes > 0) read(part, /*set=*/0, array.bytes().data());
  return array;
}

HostArray TuningData::number(int input) const {
  HostArray array(program_.graph->data().inputs[static_cast<std::size_t>(input)].node->dtype, {});
  const std::uint64_t bits = scalar(input);
  std::memcpy(array.bytes().data(), &bits, array.bytes().size());
  return array;
}

bool TuningData::equal(std::span<const std::byte> a, std::span<const std::byte> b) const {
  std::size_t start = 0;
  for (const Part& part : parts_) {
    if (!part.is_compared) continue;
    const auto bytes = static_cast<std::size_t>(part.bytes);
    if (!equal_elements(part.dtype, a.data() + start, b.data() + start, bytes)) return false;
    start += bytes;
  }
  return true;
}

}  // namespace sinter
