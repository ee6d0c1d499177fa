#include "codegen/statements/kernel_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compiler/body/collapse_axes.h"
#include "compiler/body_building/build_body.h"
#include "compiler/candidates/cache_hints.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/target/target.h"
#include "ir/graph/operand_index.h"
#include "ir/record/custom.h"
#include "ir/support/round_up.h"
#include "sinter/error.h"

namespace sinter {

KernelWriter::KernelWriter(const Program& program, const Kernel& kernel, const Schedule& schedule,
                           std::string_view entry, Naming naming)
    : program(program),
      kernel(kernel),
      schedule(schedule),
      body(body_of(program, kernel)),
      is_anonymous_(naming == Naming::anonymous) {
  if (schedule.strips)
    body = in_strips(std::move(body), schedule.strips.outer, schedule.strips.channels);
  index_type_ = fits_32_bits(program, kernel) ? "int" : "long long";
  texts_.resize(body.values.size());
  kept_vectors_.resize(body.values.size());
  tiled_.resize(body.values.size());
  ahead_.resize(body.values.size());
  rows_.resize(body.values.size());
  tile_calls_.resize(body.stores.size());
  varies_along_vector_.resize(body.values.size());
  if (schedule.has_hints) last_reads_ = last_reads(body, schedule);
  if (schedule.is_flat) body = in_one_axis(std::move(body));
  source.entry = entry;
  source.threads = schedule.threads;
  names_.take(entry);
}

// --- text ---------------------------------------------------------------------------------------

IndexWriter KernelWriter::index_writer(bool at_element) {
  return {.c_type = index_type_,
          .axis =
              [this, at_element](int axis) {
                const std::string& name = axis_names.at(axis);
                return at_element && axis == vector_axis && schedule.vector > 1 ? name + " + k"
                                                                                : name;
              },
          .symbol =
              [this](const ExtentAtom& atom) {
                std::string& name = symbols_[atom.id];
                if (name.empty()) name = names_.take(is_anonymous_ ? "extent" : atom.name);
                return name;
              },
          .indirect =
              [this](const IndexAtom& atom) { return operand_text(body.indirect.lookup(&atom)); }};
}

std::string KernelWriter::text(Extent extent) { return index_writer(false).text(extent); }

std::string KernelWriter::text(const Index& index, bool at_element) {
  return index_writer(at_element).text(index);
}

std::string KernelWriter::wide_text(const Index& index, bool at_element) {
  IndexWriter writer = index_writer(at_element);
  const auto widened = [](auto inner) {
    return [inner](const auto& what) {
      return fmt::format("static_cast<long long>({})", inner(what));
    };
  };
  writer.c_type = "long long";
  writer.axis = widened(writer.axis);
  writer.symbol = widened(writer.symbol);
  return writer.text(index);
}

std::string KernelWriter::elements_per_chunk() const {
  return std::to_string(kChunk) + (index_type_ == "int" ? "" : "ll");
}

std::string KernelWriter::index_number(std::int64_t number) const {
  return index_type_ == "int" ? fmt::format("int({})", number) : fmt::format("{}ll", number);
}

std::string KernelWriter::declare_index(std::string_view name, const std::string& expression) {
  out.line(fmt::format("const {} {} = {};", index_type_, name, expression));
  return std::string(name);
}

void KernelWriter::declare_block_range(const std::string& block, Extent size,
                                       std::int64_t per_block) {
  const std::int64_t stop = schedule.block_limit;
  const std::int64_t blocks = divide_up(stop, per_block);
  const std::string number = atomic(block);
  const std::string piece = blocks == 1 ? number : fmt::format("{} / {}", number, blocks);
  const std::string within =
      blocks == 1 ? "" : fmt::format(" + {} % {} * {}", number, blocks, per_block);
  const bool is_whole = size.is_number() && size.number() % stop == 0;
  std::string end = fmt::format("({} + 1) * {}", piece, stop);
  if (!is_whole) end = fmt::format("minimum({}, {})", end, text(size));
  declare_index("start", fmt::format("{} * {}{}", piece, stop, within));
  declare_index("end", end);
}

Extent KernelWriter::blocks_over(Extent size, std::int64_t per_block) const {
  if (schedule.block_limit == 0) return ceil_div(size, per_block);
  return ceil_div(size, schedule.block_limit) *
         Extent(divide_up(std::int64_t{schedule.block_limit}, per_block));
}

void KernelWriter::declare_axes(const std::string& linear, std::span<const int> axes,
                                std::string_view prefix) {
  if (axes.empty()) return;
  std::string rest = linear;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::string extent = atomic(text(body.space.extent(axes[i])));
    const std::string name =
        axes.size() == 1 ? std::string(prefix) : fmt::format("{}_{}", prefix, i);
    axis_names[axes[i]] = name;
    if (axes.size() == 1 && name == rest) return;
    declare_index(name, i == 0 ? rest : fmt::format("{} % {}", atomic(rest), extent));
    rest = fmt::format("{} / {}", rest.find('/') == rest.npos ? rest : "(" + rest + ")", extent);
  }
}

std::string KernelWriter::name_for(const Node* node, std::string_view suffix) {
  std::string name = is_anonymous_ ? "" : program.names().of(node);
  if (name.empty()) name = std::string(info(node->op).name);
  name = names_.take(name + std::string(suffix));
  if (in_tile_) tile_names_.push_back(name);
  return name;
}

std::string KernelWriter::buffer_name(int buffer, bool is_store) {
  if (const auto shared = shared_buffers_.find(buffer);
      !is_store && shared != shared_buffers_.end())
    return shared->second.name;
  // A buffer that is both read and written is one parameter: two `__restrict__` pointers would
  // claim not to overlap.
  const bool is_updated =
      std::ranges::any_of(kernel.stores,
                          [&](const Store& store) { return store.buffer == buffer; }) &&
      std::ranges::any_of(body.values, [&](const Value& value) {
        return value.kind == Value::Kind::load && buffer_of(value) == buffer;
      });
  if (is_updated) updated_.insert(buffer);
  std::string& name = (is_store || is_updated ? outputs_ : inputs_)[buffer];
  if (name.empty()) name = take_array_name(buffer, is_updated ? "_io" : is_store ? "_out" : "_in");
  return name;
}

std::string KernelWriter::take_array_name(int buffer, std::string_view suffix) {
  const Buffer& memory = program.buffers[static_cast<std::size_t>(buffer)];
  return names_.take((is_anonymous_ ? "array" : program.name_of(memory)) + std::string(suffix));
}

std::string KernelWriter::state_type(const Node& node) const {
  return fmt::format("{}<{}{}>", info(node.op).state, compute_c_type(node.operand(0)->dtype),
                     gives_index(node.op) && has_narrow_index(node) ? ", int" : "");
}

// --- the whole kernel ---------------------------------------------------------------------------

void KernelWriter::add_scratch_arguments() {
  const auto add = [&](Argument::Kind kind, std::string_view type, std::string_view name) {
    scratch_.emplace_back(Argument{.kind = kind, .c_type = fmt::format("{}* __restrict__", type)},
                          name);
  };
  add(Argument::Kind::tickets, "unsigned", "tickets");
  add(Argument::Kind::workspace, "unsigned char", "workspace");
}

std::string KernelWriter::add_workspace_array(std::string_view type, Extent bytes) {
  const Extent offset = source.workspace_bytes;
  source.workspace_bytes = offset + ceil_div(bytes, 16) * Extent(16);
  source.traffic.bytes_read = source.traffic.bytes_read + bytes;
  source.traffic.bytes_written = source.traffic.bytes_written + bytes;
  return fmt::format("reinterpret_cast<{}*>(workspace{})", type,
                     offset.is(0) ? "" : " + " + text(offset));
}

std::vector<int> indices_below(int count) {
  std::vector<int> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

Extent one_unless_zero(Extent size) {
  constexpr std::int64_t kMoreThanAny = std::int64_t{1} << 40;
  return size.is_number() ? Extent(size.is(0) ? 0 : 1) : ceil_div(size, kMoreThanAny);
}

std::string traffic_comment(const Traffic& traffic) {
  return fmt::format("// reads {}{} bytes, writes {}{}\n", traffic.is_bound ? "at most " : "",
                     to_string(traffic.bytes_read), traffic.writes_are_bound ? "at most " : "",
                     to_string(traffic.bytes_written));
}

std::string reproduce_comment(const Program& program, const Kernel& kernel) {
  const Numerics& numerics = program.numerics;
  std::string text;
  if (numerics != Numerics{})
    text = fmt::format("// rounding {}, math {}\n",
                       numerics.rounding == Rounding::wide ? "wide" : "as recorded",
                       numerics.math == Math::fast ? "fast" : "accurate");
  std::string sizes;  // of the symbols; their values are not known here
  for (const ExtentAtom* symbol : program.graph->data().extents->symbols())
    sizes += fmt::format("{}{}=N", sizes.empty() ? " --size " : ",", symbol->name);
  return text +
         fmt::format("// reproduce: sinter dump FILE --stage source --arch {}{}{}{} --kernel {}\n",
                     kernel.schedule.is_for_cpu() ? cpu_target().name : program.arch,
                     numerics.rounding == Rounding::wide ? " --rounding wide" : "",
                     numerics.math == Math::fast ? " --math fast" : "", sizes, kernel.name);
}

std::string KernelWriter::head_comment() const {
  std::string text = is_section_ ? fmt::format("// phase {}: {} · {}\n", kernel.phase,
                                               name(kernel.kind), to_string(schedule))
                                 : fmt::format("// sinter kernel {} · {} · {}\n", source.entry,
                                               name(kernel.kind), to_string(schedule));
  for (const Node* node : kernel.nodes)
    text += fmt::format("//   {} : {}\n", statement_text(*node, program.names()), type_text(*node));
  for (const std::string& note : kernel.notes) text += fmt::format("// {}\n", note);
  text += traffic_comment(source.traffic);
  if (!is_section_) text += reproduce_comment(program, kernel);
  return text;
}

/// `(TYPE NAME, …)`, one parameter per line, indented by the length of the kernel's name.
std::string KernelWriter::parameters() {
  std::vector<std::string> parameters;
  const auto add = [&](Argument argument, const std::string& name) {
    parameters.push_back(fmt::format("{} {}", argument.c_type, name));
    parameter_names_.push_back(name);
    source.arguments.push_back(std::move(argument));
  };
  // Arrays that the launch both reads and writes are not `__restrict__`, because the compiler could
  // move a load below a barrier.
  const auto is_restrict = [&](int buffer) {
    return !updated_.contains(buffer) && !exchanged_.contains(buffer);
  };
  const auto add_buffer = [&](int buffer, const std::string& name, bool is_const) {
    const std::string_view type =
        info(program.buffers[static_cast<std::size_t>(buffer)].dtype).c_name;
    add({.kind = Argument::Kind::buffer,
         .index = buffer,
         .c_type = fmt::format("{}{}*{}", is_const ? "const " : "", type,
                               is_restrict(buffer) ? " __restrict__" : ""),
         .loads = loads_[buffer],
         .stores = stores_[buffer]},
        name);
  };
  for (const auto& [buffer, name] : inputs_) add_buffer(buffer, name, true);
  for (const auto& [buffer, name] : outputs_) add_buffer(buffer, name, false);
  for (const auto& [place, name] : scalars_) {
    const DType dtype = graph().inputs[static_cast<std::size_t>(place)].node->dtype;
    add({.kind = Argument::Kind::scalar,
         .index = place,
         .c_type = fmt::format("const {}", info(dtype).c_name)},
        name);
  }
  const auto add_extent = [&](Extent extent, const std::string& name) {
    add({.kind = Argument::Kind::extent,
         .extent = extent,
         .c_type = fmt::format("const {}", index_type_)},
        name);
  };
  ExtentTable& extents = *graph().extents;
  for (const auto& [id, name] : symbols_)
    add_extent(extents.symbol(extents.symbols()[static_cast<std::size_t>(id)]->name), name);
  for (const auto& [size, name] : sizes_) add_extent(size, name);
  for (auto& [argument, name] : scratch_) add(std::move(argument), name);
  for (const auto& [buffer, shared] : shared_buffers_)
    parameters.push_back(fmt::format(
        "{}{}* {}", written_to_shared_.contains(buffer) ? "" : "const ",
        info(program.buffers[static_cast<std::size_t>(buffer)].dtype).c_name, shared.name));
  if (!shared_buffers_.empty())
    parameters.push_back(fmt::format("const {} {}", index_type_, tile_number_));
  if (is_section_) parameters.push_back(fmt::format("const {} block", index_type_));
  return fmt::format("({})",
                     fmt::join(parameters, ",\n" + std::string(source.entry.size() + 1, ' ')));
}

std::string KernelWriter::custom_definitions(const std::string& head) const {
  std::string text;
  for (std::size_t i = 0; i < customs_.size(); ++i) {
    const Node& node = *customs_[i];
    text += fmt::format("namespace {}_{} {{\n", custom_namespace(), i);
    if (!is_anonymous_)
      text += fmt::format("#line 1 \"custom op {}\"\n", attribute(node, "name").text);
    text += fmt::format("__device__ __forceinline__ {}\n}}\n",
                        strip_specifiers(attribute(node, "source").text));
    if (is_anonymous_) continue;
    const auto lines = std::ranges::count(head, '\n') + std::ranges::count(text, '\n');
    text += fmt::format("#line {} \"{}\"\n", lines + 2, source.entry);
  }
  return text;
}

std::string KernelWriter::block() const {
  if (is_section_) return "block";
  return fmt::format("static_cast<{}>(blockIdx.x)", index_type_);
}

std::string KernelWriter::blocks() { return is_section_ ? text(source.grid) : "gridDim.x"; }

std::string kernel_head(const Schedule& schedule, std::string_view entry,
                        const std::string& parameters) {
  return fmt::format("extern \"C\" __global__ void __launch_bounds__({}{})\n{}{} {{\n",
                     schedule.threads,
                     schedule.blocks_per_sm == 0 ? "" : fmt::format(", {}", schedule.blocks_per_sm),
                     entry, parameters);
}

Source KernelWriter::finish() {
  // A block of one thread needs no barrier.
  if (schedule.is_for_cpu()) source.has_barrier = false;
  const std::string head = is_anonymous_ ? "" : head_comment();
  const std::string list = parameters();
  source.text = head + custom_definitions(head) + kernel_head(schedule, source.entry, list) +
                write_early_start_wait(program.arch, source) + out.text() + "}\n";
  return std::move(source);
}

void KernelWriter::become_section(std::set<int> exchanged, std::set<int> overwritten) {
  is_section_ = true;
  exchanged_ = std::move(exchanged);
  overwritten_ = std::move(overwritten);
}

void KernelWriter::add_shared_buffer(int buffer, std::int64_t step) {
  shared_buffers_[buffer] = {take_array_name(buffer, "_kept"), step};
  if (tile_number_.empty()) tile_number_ = names_.take("tile_number");
}

std::string KernelWriter::index_in_tile(const std::string& index, std::int64_t step) const {
  return fmt::format("{} - {} * {}", index, tile_number_, step);
}

void KernelWriter::read_from_shared(int buffer, const SharedTile& tile) {
  add_shared_buffer(buffer, tile.step);
  for (Value& value : body.values) {
    if (value.kind != Value::Kind::load || buffer_of(value) != buffer) continue;
    if (tile.at) value.at = *tile.at;
    value.aligned = kWellAligned;
  }
}

void KernelWriter::write_to_shared(int buffer, const SharedTile& tile, bool is_in_memory) {
  add_shared_buffer(buffer, tile.step);
  written_to_shared_[buffer] = {tile.at, is_in_memory};
}

std::string KernelWriter::size_text(Extent size) {
  if (is_known(size) || !size.is_number()) return text(size);
  const auto known = std::ranges::find(sizes_, size, &std::pair<Extent, std::string>::first);
  if (known != sizes_.end()) return known->second;
  return sizes_.emplace_back(size, names_.take("elements")).second;
}

SectionFunction KernelWriter::finish_section() {
  if (schedule.is_for_cpu()) source.has_barrier = false;
  const std::string head = is_anonymous_ ? "" : head_comment();
  const std::string list = parameters();
  std::string text = fmt::format("{}{} {{\n", source.entry, list) + out.text() + "}\n";
  std::vector<int> shared_buffers;
  for (const auto& [buffer, shared] : shared_buffers_) shared_buffers.push_back(buffer);
  return {.name = source.entry,
          .head = head + custom_definitions(head),
          .text = std::move(text),
          .code = custom_definitions({}) + list + out.text(),
          .source = std::move(source),
          .names = std::move(parameter_names_),
          .shared_buffers = std::move(shared_buffers),
          .index_type = index_type_};
}

}  // namespace sinter
