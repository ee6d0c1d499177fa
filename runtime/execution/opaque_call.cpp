#include "runtime/execution/opaque_call.h"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "ir/graph/opaque_node.h"
#include "ir/shape/extent.h"
#include "ir/support/checked_arithmetic.h"
#include "ir/types/element.h"
#include "runtime/driver/context_guard.h"
#include "runtime/libraries/library_functions.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr std::int64_t kAlignment = 256;
constexpr std::string_view kNotStdException = "it threw an exception that is not a std::exception";

Extent result_bytes(const ResultType& type) {
  return product(type.shape) * Extent(size_of(type.dtype));
}

/// The buffer that stores result `number`; -1 if the result is unused.
int buffer_of_result(const Kernel& kernel, std::size_t number) {
  const auto store = std::ranges::find_if(
      kernel.stores, [&](const Store& one) { return result_number(*one.node) == number; });
  return store == kernel.stores.end() ? -1 : store->buffer;
}

Literal number_from_bits(DType dtype, std::uint64_t bits) {
  const auto* const place = reinterpret_cast<const std::byte*>(&bits);
  if (is_floating(dtype)) return Literal::of(read_real(dtype, place));
  return integer_literal(from_storage_bits(dtype, read_integer(dtype, place)), dtype);
}

}  // namespace

OpaqueFunctions functions_of(const GraphData& graph) {
  register_library_functions();
  OpaqueFunctions functions;
  for (const Node* node : graph.nodes)
    if (is_opaque(*node))
      functions.try_emplace(std::string(function_of(*node)), registered_function(graph, *node));
  return functions;
}

Source source_of_call(const Program& program, const Kernel& kernel) {
  using Kind = Argument::Kind;
  const Node& call = *kernel.nodes.front();
  Source source{.entry = fmt::format("{}_{}", kernel.name, function_of(call)),
                .text = fmt::format("// {} calls {}: {}, not emitted by sinter\n", kernel.name,
                                    function_of(call),
                                    is_library(call.op) ? "a library" : "a user function")};
  for (const Node* operand : call.operands) {
    if (operand->op == Op::scalar) {
      source.arguments.push_back(
          {.kind = Kind::scalar, .index = static_cast<int>(attribute(*operand, "index").integer)});
      continue;
    }
    const int buffer = program.buffer_of.lookup(operand);
    const Extent bytes = result_bytes({.dtype = operand->dtype, .shape = operand->shape});
    if (source.bytes_read_of.try_emplace(buffer, bytes).second)
      source.traffic.bytes_read = source.traffic.bytes_read + bytes;
    source.arguments.push_back({.kind = Kind::buffer, .index = buffer});
  }
  const std::vector<ResultType> types = result_types(call);
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Extent bytes = result_bytes(types[i]);
    source.traffic.bytes_written = source.traffic.bytes_written + bytes;
    if (const int buffer = buffer_of_result(kernel, i); buffer >= 0) {
      source.arguments.push_back({.kind = Kind::buffer, .index = buffer});
      continue;
    }
    source.arguments.push_back({.kind = Kind::workspace, .extent = source.workspace_bytes});
    source.workspace_bytes = source.workspace_bytes + ceil_div(bytes, kAlignment) * kAlignment;
  }
  source.arguments.push_back({.kind = Kind::workspace, .extent = source.workspace_bytes});
  return source;
}

CallDescription describe_call(const Program& program, const Kernel& kernel) {
  const Node& node = *kernel.nodes.front();
  CallDescription call{.function = std::string(function_of(node)),
                       .place = program.graph->data().location_text(&node),
                       .attributes = options_of(node)};
  for (const Node* operand : node.operands)
    call.inputs.push_back({.dtype = operand->dtype,
                           .shape = {operand->shape.begin(), operand->shape.end()},
                           .is_number = operand->op == Op::scalar});
  for (const ResultType& type : result_types(node))
    call.outputs.push_back({.dtype = type.dtype, .shape = {type.shape.begin(), type.shape.end()}});
  return call;
}

OpaqueBinding::OpaqueBinding(CallDescription call, const OpaqueFunctions& functions,
                             const Driver& driver, bool is_host_device, int device,
                             std::shared_ptr<AlgorithmStore> algorithms)
    : driver_(driver),
      is_host_device_(is_host_device),
      device_(device),
      algorithms_(std::move(algorithms)),
      call_(std::move(call)),
      function_(functions.at(call_.function)),
      display_name_(
          fmt::format("{}{}", is_library_name(call_.function) ? "" : "opaque ", call_.function)),
      is_collective_(is_collective_name(call_.function)),
      may_be_captured_(function_->can_capture) {
  if (!function_->can_capture) capture_refusal_ = "it is registered as not capturable";
}

std::string OpaqueBinding::message(std::string_view what) const {
  return fmt::format("{}: {} (recorded at {})", display_name_, what, call_.place);
}

void OpaqueBinding::fail(std::string_view what) const { throw UserError(message(what)); }

OpaqueArrays OpaqueBinding::arrays(std::span<const std::int64_t> symbols) const {
  OpaqueArrays arrays;
  for (const std::vector<CallType>* types : {&call_.inputs, &call_.outputs})
    for (const CallType& type : *types) arrays.shapes.push_back(evaluate_all(type.shape, symbols));
  std::size_t next = 0;
  for (const CallType& type : call_.inputs)
    arrays.inputs.push_back(
        {.dtype = type.dtype, .shape = arrays.shapes[next++], .is_number = type.is_number});
  for (const CallType& type : call_.outputs)
    arrays.outputs.push_back({.dtype = type.dtype, .shape = arrays.shapes[next++]});
  return arrays;
}

OpaqueSizes OpaqueBinding::sizes(const OpaqueArrays& arrays) const {
  return {.function = call_.function,
          .inputs = arrays.inputs,
          .outputs = arrays.outputs,
          .attributes = call_.attributes,
          .place = call_.place,
          .is_host_device = is_host_device_,
          .device = device_,
          .algorithms = is_library_name(call_.function) ? algorithms_.get() : nullptr};
}

template <class Function>
auto OpaqueBinding::call_user_function(std::string_view what, Function function) const {
  const ContextGuard kept(driver_);
  try {
    return function();
  } catch (const std::exception& error) {
    fail(fmt::format("{}: {}", what, error.what()));
  } catch (...) {
    fail(fmt::format("{}: {}", what, kNotStdException));
  }
}

void OpaqueBinding::check(std::span<const std::int64_t> symbols) const {
  const OpaqueArrays known = arrays(symbols);
  check(sizes(known));
}

void OpaqueBinding::check(const OpaqueSizes& sizes) const {
  if (function_->check)
    call_user_function("its function rejects this call", [&] { function_->check(sizes); });
}

std::string_view OpaqueBinding::group() const {
  const auto group = std::ranges::find(call_.attributes, "group", &OpaqueAttribute::name);
  return is_collective_ && group != call_.attributes.end() ? std::string_view(group->text) : "";
}

void OpaqueBinding::check_memory(const Source& source, const Program& program,
                                 std::span<const std::int64_t> symbols) const {
  const std::int64_t workspace = evaluate(source.workspace_bytes, symbols);
  auto argument = source.arguments.begin();
  std::int64_t end = 0;  // of the arrays in the workspace so far
  for (const std::vector<CallType>* types : {&call_.inputs, &call_.outputs})
    for (const CallType& type : *types) {
      const Argument& place = *argument++;
      if (type.is_number) continue;
      std::int64_t bytes = size_of(type.dtype);
      for (const Extent extent : type.shape) {
        const std::int64_t size = evaluate(extent, symbols);
        if (size < 0) fail(fmt::format("an array has {} = {} elements", to_string(extent), size));
        bytes = checked_product(bytes, size);
      }
      if (bytes == 0) continue;
      const bool is_buffer = place.kind == Argument::Kind::buffer;
      const std::int64_t begin = is_buffer ? 0 : evaluate(place.extent, symbols);
      const std::int64_t all =
          is_buffer ? bytes_of(program.buffers[static_cast<std::size_t>(place.index)], symbols)
                    : workspace;
      if (begin < 0 || checked_sum(begin, bytes) > all)
        fail(fmt::format("an array of {} bytes at offset {} does not fit in {} bytes", bytes, begin,
                         all));
      if (is_buffer) {
        const Buffer& buffer = program.buffers[static_cast<std::size_t>(place.index)];
        if (buffer.dtype != type.dtype)
          fail(fmt::format("an array of {} is in a buffer of {}; save the program again",
                           name(type.dtype), name(buffer.dtype)));
        continue;
      }
      if (begin < end || begin % kAlignment != 0)
        fail(
            fmt::format("an array is {} bytes into the workspace, which must be a multiple of {} "
                        "and at least {}, the end of other arrays; save the program again",
                        begin, kAlignment, end));
      end = begin + bytes;
    }
  // The workspace of the function follows these arrays.
  if (const std::int64_t begin = evaluate(argument->extent, symbols);
      begin < end || begin > workspace || begin % kAlignment != 0)
    fail(fmt::format("its workspace at offset {} does not fit in {} bytes", begin, workspace));
}

std::int64_t OpaqueBinding::workspace_bytes(std::span<const std::int64_t> symbols) const {
  if (!function_->workspace) return 0;
  const OpaqueArrays known = arrays(symbols);
  const std::int64_t bytes = call_user_function("its workspace function failed",
                                                [&] { return function_->workspace(sizes(known)); });
  constexpr std::int64_t kMaxWorkspaceBytes = std::int64_t{1}
                                              << 62;  // so that a sum with it does not wrap
  if (bytes < 0 || bytes > kMaxWorkspaceBytes)
    fail(fmt::format("its workspace function asks for {} bytes", bytes));
  return bytes;
}

std::string OpaqueBinding::capture_refusal() const {
  const std::lock_guard lock(mutex_);
  return capture_refusal_;
}

void OpaqueBinding::set_capture_refusal(std::string why) const {
  const std::lock_guard lock(mutex_);
  capture_refusal_ = std::move(why);
  may_be_captured_.store(false, std::memory_order_release);
}

void HostFunctions::run(void* host_function) {
  auto& called = *static_cast<HostFunction*>(host_function);
  const auto note = [&](std::string_view what) noexcept {
    HostFunctions& owner = *called.owner;
    const std::lock_guard lock(owner.mutex_);
    if (!owner.failure_.empty()) return;
    try {
      owner.failure_ =
          called.call->message(fmt::format("its host work in an earlier run failed: {}", what));
    } catch (...) {
      owner.failure_ = "no memory";  // short enough to need no allocation
    }
  };
  try {
    called.function();
  } catch (const std::exception& error) {
    note(error.what());
  } catch (...) {
    note(kNotStdException);
  }
  called.runs.fetch_add(1, std::memory_order_release);
}

void HostFunctions::enqueue(const DeviceState& device, CUstream stream, const OpaqueBinding& call,
                            std::function<void()> function, List& list) {
  auto added = std::make_unique<HostFunction>();
  added->function = std::move(function);
  added->call = &call;
  added->owner = this;
  // Stored before the driver gets its address: afterwards no failure may destroy it.
  list.push_back(std::move(added));
  const CUresult result = device.driver.cuLaunchHostFunc(stream, &run, list.back().get());
  if (result == CUDA_SUCCESS) return;
  list.pop_back();
  check(device.driver, result, "cuLaunchHostFunc", call.display_name());
}

void HostFunctions::throw_if_failed() {
  std::string failure;
  {
    const std::lock_guard lock(mutex_);
    failure.swap(failure_);
  }
  if (!failure.empty()) throw UserError(failure);
}

void HostFunctions::keep_alive_until_run(std::list<List> lists) noexcept {
  const auto has_run = [](const std::unique_ptr<HostFunction>& one) {
    return one->runs.load(std::memory_order_acquire) > 0;
  };
  std::erase_if(pending_, [&](const List& list) { return std::ranges::all_of(list, has_run); });
  pending_.splice(pending_.end(), lists);
}

bool OpaqueLaunch::set_symbols(std::span<const std::int64_t> symbols,
                               std::int64_t workspace_bytes) {
  OpaqueArrays arrays = binding_.arrays(symbols);
  if (communicator_) binding_.check(sizes(arrays));
  const bool is_same = arrays.shapes == arrays_.shapes && workspace_bytes == workspace_bytes_;
  arrays_ = std::move(arrays);
  workspace_bytes_ = workspace_bytes;
  return !is_same;
}

OpaqueSizes OpaqueLaunch::sizes(const OpaqueArrays& arrays) const {
  OpaqueSizes sizes = binding_.sizes(arrays);
  sizes.communicator = communicator_;
  return sizes;
}

bool OpaqueLaunch::is_empty() const {
  return std::ranges::all_of(arrays_.outputs,
                             [](const OpaqueArray& array) { return array.elements() == 0; });
}

void OpaqueLaunch::enqueue(void* const* arguments, const DeviceState& device, CUstream stream,
                           HostFunctions& host_functions, HostFunctions::List& list) {
  const auto next = [&] { return *static_cast<const std::uint64_t*>(*arguments++); };
  for (OpaqueArray& input : arrays_.inputs) {
    const std::uint64_t bits = next();
    if (input.is_number)
      input.number = number_from_bits(input.dtype, bits);
    else
      input.data = reinterpret_cast<void*>(bits);
  }
  for (OpaqueArray& output : arrays_.outputs) output.data = reinterpret_cast<void*>(next());
  OpaqueCall call;
  static_cast<OpaqueSizes&>(call) = sizes(arrays_);
  call.stream = stream;
  const std::uint64_t workspace = next();
  if (workspace_bytes_ > 0) call.workspace = reinterpret_cast<void*>(workspace);
  call.workspace_bytes = workspace_bytes_;
  call.add_host_work = [&](std::function<void()> function) {
    host_functions.enqueue(device, stream, binding_, std::move(function), list);
  };
  const int result = binding_.call_user_function("its function failed",
                                                 [&] { return binding_.function().enqueue(call); });
  if (result != 0) binding_.fail(fmt::format("its function failed with the code {}", result));
}

}  // namespace sinter
