#include "runtime/tuning/scratch_buffers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include <fmt/format.h>

#include "compiler/body/sub_buffer.h"
#include "ir/graph/node.h"
#include "ir/shape/extent.h"
#include "ir/support/round_up.h"
#include "ir/types/casts.h"
#include "ir/types/element.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr std::int64_t kPartAlignment = 256;
constexpr std::int64_t kPatternBytes = 1 << 20;
constexpr std::string_view kScratchData = "scratch data for tuning";

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

ScratchBuffers::Layout ScratchBuffers::layout_of(const TuneRequest& request) {
  Layout layout;
  std::vector<int> buffers;                       // that any candidate touches, each once
  DenseMap<int, std::size_t> touching;            // buffer → number of candidates
  std::int64_t workspace_bytes = 0, tickets = 0;  // the largest needs of any candidate
  for (const Source& source : request.sources) {
    for (const int buffer : buffers_of(source))
      if (touching[buffer]++ == 0) buffers.push_back(buffer);
    workspace_bytes = std::max(workspace_bytes, evaluate(source.workspace_bytes, request.symbols));
    tickets = std::max(tickets, evaluate(source.tickets, request.symbols));
  }
  for (const int buffer : buffers) {
    const int whole = parent_or_self(request.program, buffer);
    const auto [begin, end] = range_in_array(request.program, buffer, request.symbols);
    auto slot = std::ranges::find(layout.slots, whole, &Slot::array);
    if (slot == layout.slots.end())
      slot = layout.slots.insert(slot, {.array = whole, .begin = begin, .end = end});
    slot->begin = std::min(slot->begin, begin);
    slot->end = std::max(slot->end, end);
  }
  const std::int64_t misalignment = request.alignment >= 16 ? 0 : request.alignment;
  for (Slot& slot : layout.slots) {
    // The slot begins at the same distance from a multiple of 256 as in its array. One unit more,
    // for pointers that are misaligned on purpose.
    const std::int64_t begin = slot.begin % kPartAlignment;
    slot.offset = layout.bytes + begin + misalignment;
    layout.bytes += part_aligned(begin + slot.end - slot.begin) + kPartAlignment;
  }
  DenseSet<int> written;
  for (const Store& store : request.kernel.stores) written.insert(store.buffer);
  for (const int buffer : buffers) {
    layout.part_of[buffer] = layout.parts.size();
    Slot& slot =
        *std::ranges::find(layout.slots, parent_or_self(request.program, buffer), &Slot::array);
    Part part = part_at(slot, buffer, request.program, request.symbols);
    part.is_written = written.contains(buffer);
    part.is_compared = part.is_written && touching[buffer] == request.sources.size();
    slot.is_written = slot.is_written || part.is_written;
    layout.parts.push_back(part);
  }
  layout.workspace_offset = layout.bytes;
  layout.bytes += part_aligned(workspace_bytes);
  layout.ticket_offset = layout.bytes;
  layout.bytes += part_aligned(tickets * static_cast<std::int64_t>(sizeof(unsigned)));
  return layout;
}

ScratchBuffers::Part ScratchBuffers::part_at(const Slot& slot, int buffer, const Program& program,
                                             std::span<const std::int64_t> symbols) {
  const ByteRange range = range_in_array(program, buffer, symbols);
  return {.buffer = buffer,
          .dtype = program.buffers[static_cast<std::size_t>(buffer)].dtype,
          .offset = slot.offset + range.begin - slot.begin,
          .bytes = range.end - range.begin};
}

std::int64_t ScratchBuffers::bytes_of_results(const TuneRequest& request) {
  std::int64_t bytes = 0;
  for (const Part& part : layout_of(request).parts)
    if (part.is_compared) bytes += part.bytes;
  return bytes;
}

const ScratchBuffers::Slot* ScratchBuffers::slot_with(int buffer) const {
  const auto slot =
      std::ranges::find(layout_.slots, parent_or_self(program_, buffer), &Slot::array);
  if (slot == layout_.slots.end()) return nullptr;
  const ByteRange range = range_in_array(program_, buffer, symbols_);
  return range.begin >= slot->begin && range.end <= slot->end ? &*slot : nullptr;
}

bool ScratchBuffers::writes_to_array_of(int buffer) const {
  const int whole = parent_or_self(program_, buffer);
  return std::ranges::any_of(layout_.parts, [&](const Part& part) {
    // Sub-buffers of one array are disjoint.
    return part.is_written && parent_or_self(program_, part.buffer) == whole &&
           (part.buffer == whole || buffer == whole);
  });
}

ScratchBuffers::ScratchBuffers(DeviceState& device, const TuneRequest& request, int sets,
                               CUstream stream)
    : device_(device),
      stream_(stream),
      program_(request.program),
      symbols_(request.symbols),
      layout_(layout_of(request)),
      sets_(sets),
      memory_(device, layout_.bytes * sets, kScratchData) {
  const Driver& driver = device_.driver;
  if (layout_.bytes > 0)  // tickets must be 0; the contents of workspaces do not matter
    check(driver,
          driver.cuMemsetD8Async(memory_.pointer, 0, static_cast<std::size_t>(memory_.bytes),
                                 stream_),
          "cuMemsetD8Async", kScratchData);
  for (const Slot& slot : layout_.slots) {
    fill(slot);
    for (int set = 1; set < sets_ && slot.end > slot.begin; ++set)
      check(driver,
            driver.cuMemcpyDtoDAsync(address(slot.offset, set), address(slot.offset, 0),
                                     static_cast<std::size_t>(slot.end - slot.begin), stream_),
            "cuMemcpyDtoDAsync", kScratchData);
  }
}

CUdeviceptr ScratchBuffers::address(std::int64_t offset, int set) const {
  return memory_.pointer + static_cast<CUdeviceptr>(set * layout_.bytes + offset);
}

void ScratchBuffers::upload(CUdeviceptr to, std::span<const std::byte> bytes,
                            std::string_view what) const {
  const Driver& driver = device_.driver;
  check(driver, driver.cuMemcpyHtoDAsync(to, bytes.data(), bytes.size(), stream_),
        "cuMemcpyHtoDAsync", what);
  check(driver, driver.cuStreamSynchronize(stream_), "cuStreamSynchronize",
        [&] { return fmt::format("{}, or a candidate before", what); });
}

std::span<const std::byte> ScratchBuffers::pattern(const Buffer& buffer, std::int64_t bytes) {
  const NumberRange range = range_of(program_, buffer);
  std::vector<std::byte>& known = patterns_[{buffer.dtype, range.low, range.high}];
  if (std::ssize(known) < bytes) known = random_pattern(buffer.dtype, bytes, range);
  return std::span(known).first(static_cast<std::size_t>(bytes));
}

/// Uploads a random pattern of up to 1 MiB, and copies it until the slot is full.
void ScratchBuffers::fill(const Slot& slot) {
  const std::int64_t bytes = slot.end - slot.begin;
  if (bytes == 0) return;
  const Driver& driver = device_.driver;
  const Buffer& buffer = program_.buffers[static_cast<std::size_t>(slot.array)];
  const CUdeviceptr to = address(slot.offset, 0);
  std::int64_t filled = std::min(bytes, kPatternBytes);
  upload(to, pattern(buffer, filled), kScratchData);
  while (filled < bytes) {
    const std::int64_t more = std::min(filled, bytes - filled);
    check(driver,
          driver.cuMemcpyDtoDAsync(to + static_cast<CUdeviceptr>(filled), to,
                                   static_cast<std::size_t>(more), stream_),
          "cuMemcpyDtoDAsync", kScratchData);
    filled += more;
  }
}

/// A number other than 0 and 1, which are special to many ops.
HostArray ScratchBuffers::number(int input) const {
  const DType dtype = program_.graph->data().inputs[static_cast<std::size_t>(input)].node->dtype;
  const NumberRange range = is_floating(dtype) ? NumberRange{0.25, 0.75} : NumberRange{2, 8};
  HostArray array(dtype, {});
  std::ranges::copy(random_pattern(dtype, size_of(dtype), range), array.bytes().begin());
  return array;
}

std::uint64_t ScratchBuffers::value(const Argument& argument, int set) const {
  const std::int64_t extent = evaluate(argument.extent, symbols_);
  switch (argument.kind) {
    case Argument::Kind::buffer: {
      const auto part = layout_.part_of.find(argument.index);
      ensure(part != layout_.part_of.end(),
             "a candidate touches a buffer that has no scratch data");
      return address(layout_.parts[part->second].offset, set);
    }
    case Argument::Kind::scalar: {
      const HostArray scalar = number(argument.index);
      std::uint64_t bits = 0;
      std::memcpy(&bits, scalar.bytes().data(), scalar.bytes().size());
      return bits;
    }
    case Argument::Kind::extent: return static_cast<std::uint64_t>(extent);
    case Argument::Kind::workspace: return address(layout_.workspace_offset + extent, set);
    case Argument::Kind::tickets: {
      constexpr auto kTicketBytes = static_cast<std::int64_t>(sizeof(unsigned));
      return address(layout_.ticket_offset + extent * kTicketBytes, set);
    }
    case Argument::Kind::table:
    case Argument::Kind::table_values: break;  // `arguments` handles tables
  }
  return 0;
}

CUdeviceptr ScratchBuffers::table(const Source& source, int set) const {
  std::unique_ptr<DeviceMemory>& memory = tables_[{&source, set}];
  if (memory) return memory->pointer;
  std::vector<std::uint64_t> values;
  for (const Argument& argument : source.table) values.push_back(value(argument, set));
  const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
  constexpr std::string_view kTable = "a table for tuning";
  memory = std::make_unique<DeviceMemory>(device_, static_cast<std::int64_t>(bytes.size()), kTable);
  upload(memory->pointer, bytes, kTable);
  return memory->pointer;
}

std::vector<std::uint64_t> ScratchBuffers::arguments(const Source& source, int set) const {
  std::vector<std::uint64_t> values;
  for (const Argument& argument : source.arguments)
    values.push_back(argument.kind == Argument::Kind::table ? table(source, set)
                                                            : value(argument, set));
  for (const Argument& argument : source.table) values.push_back(value(argument, set));
  return values;
}

void ScratchBuffers::restore() {
  for (const Slot& slot : layout_.slots)
    if (slot.is_written) fill(slot);
}

std::vector<ScratchBuffers::Result> ScratchBuffers::results() const {
  std::vector<Result> results;
  for (const Part& part : layout_.parts)
    if (part.is_compared && part.bytes > 0)
      results.push_back(
          {.pointer = address(part.offset, 0), .bytes = part.bytes, .dtype = part.dtype});
  return results;
}

void ScratchBuffers::read(CUdeviceptr from, std::span<std::byte> to) const {
  const Driver& driver = device_.driver;
  check(driver, driver.cuMemcpyDtoHAsync(to.data(), from, to.size(), stream_), "cuMemcpyDtoHAsync",
        "results of tuning");
  check(driver, driver.cuStreamSynchronize(stream_), "cuStreamSynchronize",
        "scratch data for tuning, or a candidate before");
}

HostArray ScratchBuffers::array(int buffer) const {
  const Slot* const slot = slot_with(buffer);
  ensure(slot != nullptr, "no candidate touches this buffer");
  const Part part = part_at(*slot, buffer, program_, symbols_);
  const Buffer& known = program_.buffers[static_cast<std::size_t>(buffer)];
  HostArray array(part.dtype, evaluate_all(known.node->shape, symbols_),
                  evaluate_all(known.strides, symbols_));
  ensure(static_cast<std::int64_t>(array.bytes().size()) == part.bytes,
         "scratch data and its array differ in size");
  if (part.bytes > 0) read(address(part.offset, 0), array.bytes());
  return array;
}

}  // namespace sinter
