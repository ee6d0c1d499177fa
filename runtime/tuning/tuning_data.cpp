#include "runtime/tuning/tuning_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "compiler/body/sub_buffer.h"
#include "ir/graph/node.h"
#include "ir/shape/extent.h"
#include "ir/support/round_up.h"
#include "ir/types/element.h"
#include "ir/types/rounding.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr std::int64_t kPartAlignment = 256;
constexpr std::int64_t kPatternBytes = 1 << 20;

std::int64_t part_aligned(std::int64_t bytes) { return round_up(bytes, kPartAlignment); }

/// The range of the random numbers in a buffer: the recorded one of an input, else small numbers.
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
  std::mt19937_64 random(0x5eed);  // a constant seed: equal numbers in every run
  std::uniform_real_distribution<double> real(range.low, range.high);
  std::vector<std::byte> result(static_cast<std::size_t>(bytes));
  const auto size = static_cast<std::size_t>(size_of(dtype));
  for (std::size_t i = 0; i + size <= result.size(); i += size) {
    std::byte* const element = result.data() + i;
    if (is_floating(dtype))
      write_real(dtype, element, real(random));
    else
      write_integer(dtype, element,
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

/// The buffers that any candidate touches, each once.
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

/// A range of bytes of an array.
struct ByteRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// The range of buffer `number` within the array that it belongs to, which may be itself.
ByteRange range_in_array(const Program& program, int number,
                         std::span<const std::int64_t> symbols) {
  const Buffer& buffer = program.buffers[static_cast<std::size_t>(number)];
  const std::int64_t begin = buffer.parent < 0 ? 0 : offset_bytes(buffer, symbols);
  return {.begin = begin, .end = begin + bytes_of(buffer, symbols)};
}

}  // namespace

std::vector<TuningData::Slot> TuningData::slots_of(const Request& request) {
  std::vector<Slot> slots;
  for (const int number : buffers_of_all(request.sources)) {
    const int whole = parent_or_self(request.program, number);
    const ByteRange range = range_in_array(request.program, number, request.symbols);
    const auto known = std::ranges::find(slots, whole, &Slot::array);
    if (known == slots.end()) {
      slots.push_back({.array = whole, .begin = range.begin, .end = range.end});
      continue;
    }
    known->begin = std::min(known->begin, range.begin);
    known->end = std::max(known->end, range.end);
  }
  return slots;
}

std::int64_t TuningData::bytes_in_set(const Slot& slot) {
  // The slot begins at the same distance from a multiple of 256 as in its array. One unit more, for
  // pointers that are misaligned on purpose.
  return part_aligned(slot.begin % kPartAlignment + slot.end - slot.begin) + kPartAlignment;
}

std::int64_t TuningData::bytes_per_set(const Request& request) {
  std::int64_t bytes = part_aligned(request.workspace_bytes) +
                       part_aligned(request.tickets * static_cast<std::int64_t>(sizeof(unsigned)));
  for (const Slot& slot : slots_of(request)) bytes += bytes_in_set(slot);
  return bytes;
}

void TuningData::lay_out(const Request& request) {
  const std::int64_t misalignment = request.alignment >= 16 ? 0 : request.alignment;
  slots_ = slots_of(request);
  for (Slot& slot : slots_) {
    slot.offset = set_bytes_ + slot.begin % kPartAlignment + misalignment;
    set_bytes_ += bytes_in_set(slot);
  }
  DenseSet<int> written;
  for (const Store& store : request.kernel.stores) written.insert(store.buffer);
  for (const int number : buffers_of_all(request.sources)) {
    part_of_[number] = parts_.size();
    Slot& slot = *std::ranges::find(slots_, parent_or_self(program_, number), &Slot::array);
    Part part = part_at(slot, number);
    part.is_written = written.contains(number);
    part.is_compared =
        part.is_written && std::ranges::all_of(request.sources, [&](const Source& source) {
          return touches(source, number);
        });
    slot.is_written = slot.is_written || part.is_written;
    parts_.push_back(part);
  }
  workspace_offset_ = set_bytes_;
  set_bytes_ += part_aligned(request.workspace_bytes);
  ticket_offset_ = set_bytes_;
  set_bytes_ += part_aligned(request.tickets * static_cast<std::int64_t>(sizeof(unsigned)));
}

TuningData::Part TuningData::part_at(const Slot& slot, int buffer) const {
  const ByteRange range = range_in_array(program_, buffer, symbols_);
  return {.buffer = buffer,
          .dtype = program_.buffers[static_cast<std::size_t>(buffer)].dtype,
          .offset = slot.offset + range.begin - slot.begin,
          .bytes = range.end - range.begin};
}

const TuningData::Slot* TuningData::slot_with(int buffer) const {
  const auto slot = std::ranges::find(slots_, parent_or_self(program_, buffer), &Slot::array);
  if (slot == slots_.end()) return nullptr;
  const ByteRange range = range_in_array(program_, buffer, symbols_);
  return range.begin >= slot->begin && range.end <= slot->end ? &*slot : nullptr;
}

bool TuningData::contains(int buffer) const { return slot_with(buffer) != nullptr; }

bool TuningData::writes_to_array_of(int buffer) const {
  const int whole = parent_or_self(program_, buffer);
  return std::ranges::any_of(parts_, [&](const Part& part) {
    // Sub-buffers of one array are disjoint.
    return part.is_written && parent_or_self(program_, part.buffer) == whole &&
           (part.buffer == whole || buffer == whole);
  });
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
  if (set_bytes_ > 0)  // tickets must be 0; the contents of workspaces do not matter
    check(driver,
          driver.cuMemsetD8Async(memory_->pointer, 0, static_cast<std::size_t>(memory_->bytes),
                                 stream_),
          "cuMemsetD8Async", "scratch data for tuning");
  for (const Slot& slot : slots_) {
    fill(slot, address(slot.offset, 0));
    for (int set = 1; set < sets_ && slot.end > slot.begin; ++set)
      check(driver,
            driver.cuMemcpyDtoDAsync(address(slot.offset, set), address(slot.offset, 0),
                                     static_cast<std::size_t>(slot.end - slot.begin), stream_),
            "cuMemcpyDtoDAsync", "scratch data for tuning");
  }
}

CUdeviceptr TuningData::address(std::int64_t offset, int set) const {
  return memory_->pointer + static_cast<CUdeviceptr>(set * set_bytes_ + offset);
}

/// Uploads a random pattern of up to 1 MiB, and copies it until the slot is full.
void TuningData::fill(const Slot& slot, CUdeviceptr to) {
  const std::int64_t bytes = slot.end - slot.begin;
  if (bytes == 0) return;
  const Driver& driver = device_.driver;
  const Buffer& buffer = program_.buffers[static_cast<std::size_t>(slot.array)];
  std::int64_t filled = std::min(bytes, kPatternBytes);
  const std::vector<std::byte> first =
      random_pattern(buffer.dtype, filled, range_of(program_, buffer));
  check(driver,
        driver.cuMemcpyHtoDAsync(to, first.data(), static_cast<std::size_t>(filled), stream_),
        "cuMemcpyHtoDAsync", "scratch data for tuning");
  while (filled < bytes) {
    const std::int64_t more = std::min(filled, bytes - filled);
    check(driver,
          driver.cuMemcpyDtoDAsync(to + static_cast<CUdeviceptr>(filled), to,
                                   static_cast<std::size_t>(more), stream_),
          "cuMemcpyDtoDAsync", "scratch data for tuning");
    filled += more;
  }
  // The copy may still read the pattern, which is pageable memory.
  check(driver, driver.cuStreamSynchronize(stream_), "cuStreamSynchronize",
        "scratch data for tuning, or a candidate before");
}

/// A number other than 0 and 1, which are special to many ops.
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
      ensure(part != part_of_.end(), "a candidate touches a buffer that has no scratch data");
      return address(parts_[part->second].offset, set);
    }
    case Argument::Kind::scalar: return scalar(argument.index);
    case Argument::Kind::extent:
      return static_cast<std::uint64_t>(evaluate(argument.extent, symbols_));
    case Argument::Kind::workspace: return scratch(workspace_offset_, 1);
    case Argument::Kind::tickets: return scratch(ticket_offset_, sizeof(unsigned));
    case Argument::Kind::table: break;  // `arguments` handles tables
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
  for (const Slot& slot : slots_)
    if (slot.is_written) fill(slot, address(slot.offset, set));
}

void TuningData::read(const Part& part, int set, std::byte* to) const {
  const Driver& driver = device_.driver;
  check(driver,
        driver.cuMemcpyDtoHAsync(to, address(part.offset, set),
                                 static_cast<std::size_t>(part.bytes), stream_),
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
  const Slot* const slot = slot_with(buffer);
  ensure(slot != nullptr, "no candidate touches this buffer");
  const Part part = part_at(*slot, buffer);
  const Buffer& known = program_.buffers[static_cast<std::size_t>(buffer)];
  std::vector<std::int64_t> shape, strides;
  for (const Extent extent : known.node->shape) shape.push_back(evaluate(extent, symbols_));
  for (const Extent extent : known.strides) strides.push_back(evaluate(extent, symbols_));
  HostArray array(part.dtype, std::move(shape), std::move(strides));
  ensure(static_cast<std::int64_t>(array.bytes().size()) == part.bytes,
         "scratch data and its array differ in size");
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
