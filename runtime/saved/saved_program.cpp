#include "runtime/saved/saved_program.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include <elf.h>
#include <fmt/format.h>

#include "ir/graph/opaque_node.h"
#include "ir/graph/operand_index.h"
#include "ir/record/opaque.h"
#include "ir/shape/strides.h"
#include "runtime/saved/saved_fields.h"
#include "sinter/text.h"

namespace sinter {

namespace {

constexpr int kMaxBlockThreads = 1024;
constexpr int kMaxClusterSize = 16;
constexpr std::int64_t kMaxBlockSharedBytes = std::int64_t{1} << 20;

bool is_index(std::int64_t index, std::size_t count) {
  return index >= 0 && static_cast<std::size_t>(index) < count;
}

void require(bool condition, std::string_view what) {
  if (!condition) throw InvalidData{std::string(what)};
}

/// Checks that a plan is consistent and only refers to existing parts of its graph and file.
class Checker {
 public:
  Checker(const GraphData& graph, const SavedProgram& program, std::size_t images)
      : graph_(graph), program_(program), images_(images) {}

  void check(const SavedVariant& saved) const {
    const Variant& variant = saved.variant;
    const Program& program = variant.program;
    require(saved.sizes.size() == program_.symbols.size(), "a plan has a wrong number of symbols");
    require(variant.alignment >= 1, "a plan has an alignment below 1");
    require(variant.unwritten_outputs.empty() ||
                variant.unwritten_outputs.size() == graph_.outputs.size(),
            "a plan omits outputs that do not exist");
    const std::size_t kernels = program.kernels.size();
    require(variant.kernels.size() == kernels && saved.images.size() == kernels &&
                variant.report.kernels.size() == kernels,
            "a plan has inconsistent kernel counts");
    for (const Guard& guard : program.guards)
      require(guard.divisor >= 1, "a guard has a divisor below 1");
    for (const Buffer& buffer : program.buffers) check(buffer, program.buffers);
    for (std::size_t i = 0; i < kernels; ++i) {
      check(program.kernels[i], i, program.buffers.size());
      if (program.kernels[i].kind == KernelKind::opaque) continue;
      require(is_index(saved.images[i], images_), "a kernel is in an image that does not exist");
      check(variant.kernels[i].source, program.buffers.size());
    }
    check_calls(saved);
  }

 private:
  /// Requires one description for each opaque kernel, in order.
  void check_calls(const SavedVariant& saved) const {
    const std::vector<Kernel>& kernels = saved.variant.program.kernels;
    auto next = saved.calls.begin();
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (kernels[i].kind != KernelKind::opaque) continue;
      require(next != saved.calls.end() && next->kernel == static_cast<int>(i),
              "a call is not described");
      check(next++->call, saved.variant.kernels[i].source, saved.variant.program.buffers);
    }
    require(next == saved.calls.end(), "a kernel is described as a call");
  }

  /// Requires the arguments that source_of_call gives to the call.
  void check(const CallDescription& call, const Source& source,
             const std::vector<Buffer>& buffers) const {
    require(std::ranges::count(program_.functions, call.function, &SavedFunction::name) == 1,
            "a call names a function that the program does not list");
    const std::size_t arrays = call.inputs.size() + call.outputs.size();
    require(source.arguments.size() == arrays + 1 && source.table.empty(),
            "the arguments of a call are not its operands and results");
    for (std::size_t i = 0; i < arrays; ++i) {
      const Argument& argument = source.arguments[i];
      const bool is_operand = i < call.inputs.size();
      const CallType& type = is_operand ? call.inputs[i] : call.outputs[i - call.inputs.size()];
      if (type.is_number) {
        require(
            type.shape.empty() && is_operand && argument.kind == Argument::Kind::scalar &&
                is_input(argument.index, Op::scalar) &&
                graph_.inputs[static_cast<std::size_t>(argument.index)].node->dtype == type.dtype,
            "a call takes a scalar that does not exist");
        continue;
      }
      const bool is_workspace = !is_operand && argument.kind == Argument::Kind::workspace;
      require(is_workspace || (argument.kind == Argument::Kind::buffer &&
                               is_index(argument.index, buffers.size())),
              "a call takes a buffer that does not exist");
      if (!is_workspace) check_is_bound(buffers[static_cast<std::size_t>(argument.index)], buffers);
    }
    require(source.arguments.back().kind == Argument::Kind::workspace,
            "the arguments of a call are not its operands and results");
  }

  /// Requires that a call that takes a bound array takes it with the dtype and size of the graph.
  void check_is_bound(const Buffer& taken, const std::vector<Buffer>& buffers) const {
    const Buffer& all = taken.parent < 0 ? taken : buffers[static_cast<std::size_t>(taken.parent)];
    if (all.kind == Buffer::Kind::temporary) return;
    const auto index = static_cast<std::size_t>(all.index);
    const bool is_input = all.kind == Buffer::Kind::input;
    const Node& node = is_input ? *graph_.inputs[index].node : *graph_.outputs[index].node;
    const std::vector<Extent> strides =
        is_input ? strides_of(node) : strides_of(graph_.outputs[index]);
    require(all.dtype == node.dtype && all.elements == strided_end(node.shape, strides),
            "a call takes an array that differs from the bound array");
  }

  void check(const Buffer& buffer, const std::vector<Buffer>& buffers) const {
    if (buffer.kind == Buffer::Kind::input)
      require(is_input(buffer.index, Op::input), "a buffer is an input that does not exist");
    if (buffer.kind == Buffer::Kind::output)
      require(is_index(buffer.index, graph_.outputs.size()),
              "a buffer is an output that does not exist");
    if (buffer.parent < 0) return;
    require(is_index(buffer.parent, buffers.size()),
            "a buffer is part of a buffer that does not exist");
    const Buffer& whole = buffers[static_cast<std::size_t>(buffer.parent)];
    require(whole.parent < 0, "a buffer is part of a buffer that does not exist");
    require(whole.kind == buffer.kind &&
                (buffer.kind == Buffer::Kind::temporary || whole.index == buffer.index),
            "a buffer is part of a buffer of another array");
  }

  static void check(const Kernel& kernel, std::size_t number, std::size_t buffers) {
    for (const int before : kernel.depends_on)
      require(is_index(before, number), "a kernel depends on a kernel that does not precede it");
    for (const int buffer : kernel.reads)
      require(is_index(buffer, buffers), "a kernel reads a buffer that does not exist");
    for (const Store& store : kernel.stores)
      require(is_index(store.buffer, buffers), "a kernel writes a buffer that does not exist");
  }

  void check(const Source& source, std::size_t buffers) const {
    require(source.threads >= 1 && source.threads <= kMaxBlockThreads,
            "a block has an invalid thread count");
    require(source.shared_bytes >= 0 && source.shared_bytes <= kMaxBlockSharedBytes,
            "a block has an invalid shared memory size");
    require(source.cluster >= 1 && source.cluster <= kMaxClusterSize,
            "a cluster has an invalid size");
    require(source.cluster == 1 || !source.is_cooperative,
            "a kernel has clusters and a grid barrier");
    require(
        std::ranges::count(source.arguments, Argument::Kind::table_values, &Argument::kind) == 0 ||
            !source.table.empty(),
        "a kernel takes the values of a table that it does not have");
    for (const std::vector<Argument>* list : {&source.arguments, &source.table})
      for (const Argument& argument : *list) {
        if (argument.kind == Argument::Kind::buffer)
          require(is_index(argument.index, buffers), "a kernel takes a buffer that does not exist");
        if (argument.kind == Argument::Kind::scalar)
          require(is_input(argument.index, Op::scalar),
                  "a kernel takes a scalar that does not exist");
      }
  }

  bool is_input(int index, Op op) const {
    return is_index(index, graph_.inputs.size()) &&
           graph_.inputs[static_cast<std::size_t>(index)].node->op == op;
  }

  const GraphData& graph_;
  const SavedProgram& program_;
  std::size_t images_;
};

/// The symbols of the file, as atoms of `graph`; null for one that the graph does not have.
std::vector<const ExtentAtom*> atoms_of(const SavedProgram& program, const Graph& graph) {
  std::map<std::string_view, const ExtentAtom*> known;
  for (const ExtentAtom* symbol : graph.data().extents->symbols())
    known.emplace(symbol->name, symbol);
  std::vector<const ExtentAtom*> atoms;
  for (const std::string& symbol : program.symbols) {
    const auto found = known.find(symbol);
    atoms.push_back(found == known.end() ? nullptr : found->second);
  }
  return atoms;
}

/// True if `count` records of `bytes` each, from `offset` on, fit in a file of `size` bytes.
bool fits_in(std::uint64_t offset, std::uint64_t count, std::uint64_t bytes, std::uint64_t size) {
  return offset <= size && count <= (size - offset) / bytes;
}

bool is_complete_elf(std::span<const std::byte> image) {
  Elf64_Ehdr header;
  if (image.size() < sizeof header) return false;
  std::memcpy(&header, image.data(), sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return false;
  if (header.e_shnum == 0 || header.e_shentsize != sizeof(Elf64_Shdr) ||
      !fits_in(header.e_shoff, header.e_shnum, sizeof(Elf64_Shdr), image.size()))
    return false;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, image.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS &&
        !fits_in(section.sh_offset, section.sh_size, 1, image.size()))
      return false;
  }
  if (header.e_phnum == 0) return true;
  // PN_XNUM means that the count is stored elsewhere.
  if (header.e_phnum == PN_XNUM || header.e_phentsize != sizeof(Elf64_Phdr) ||
      !fits_in(header.e_phoff, header.e_phnum, sizeof(Elf64_Phdr), image.size()))
    return false;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, image.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (!fits_in(segment.p_offset, segment.p_filesz, 1, image.size())) return false;
  }
  return true;
}

bool is_text(std::byte byte) {
  const auto c = static_cast<char>(byte);
  return (c >= ' ' && c <= '~') || c == '\n' || c == '\t' || c == '\r';
}

template <class Value>
std::vector<std::byte> packed(const Value& value) {
  ArchiveWriter writer;
  writer(value);
  return writer.take();
}

}  // namespace

bool is_complete_image(std::span<const std::byte> image, std::string_view arch) {
  if (image.empty()) return false;
  if (image.size() >= SELFMAG && std::memcmp(image.data(), ELFMAG, SELFMAG) == 0)
    return is_complete_elf(image);
  return arch != kHostArch && image.back() == std::byte{0} && image.size() > 1 &&
         std::ranges::all_of(image.first(image.size() - 1), is_text);
}

std::vector<std::byte> pack(const SavedProgram& program) { return packed(program); }
std::vector<std::byte> pack(const SavedKernels& kernels) { return packed(kernels); }

SavedProgram unpack_program(std::span<const std::byte> bytes) {
  SavedProgram program;
  ArchiveReader reader(bytes);
  reader(program);
  reader.finish();
  return program;
}

Graph graph_of(const SavedProgram& program, const std::string& path) {
  Graph graph = parse(program.graph, path);
  GraphData& data = graph.data();
  require(
      program.inputs.size() == data.inputs.size() && program.outputs.size() == data.outputs.size(),
      "the numbers of inputs, outputs and their names differ");
  std::set<std::string_view> functions;
  for (const Node* node : data.nodes)
    if (is_opaque(*node)) functions.insert(function_of(*node));
  require(std::ranges::equal(functions, program.functions, {}, {}, &SavedFunction::name),
          "the functions that it calls are not those that it lists");
  data.name = program.name;
  for (std::size_t i = 0; i < data.inputs.size(); ++i) data.inputs[i].name = program.inputs[i];
  for (std::size_t i = 0; i < data.outputs.size(); ++i) data.outputs[i].name = program.outputs[i];
  return graph;
}

SavedKernels unpack_kernels(std::span<const std::byte> bytes, const SavedProgram& program,
                            const Graph& graph) {
  const std::vector<const ExtentAtom*> atoms = atoms_of(program, graph);
  SavedKernels kernels;
  ArchiveReader reader(bytes, atoms, graph.data().extents.get());
  reader(kernels);
  reader.finish();
  for (const std::vector<std::byte>& image : kernels.images)
    require(is_complete_image(image, kernels.arch), "an image is incomplete");
  const Checker checker(graph.data(), program, kernels.images.size());
  for (SavedVariant& saved : kernels.variants) {
    checker.check(saved);
    Variant& variant = saved.variant;
    for (std::size_t i = 0; i < variant.kernels.size(); ++i) {
      variant.report.kernels[i].source = variant.kernels[i].source.text;
      variant.program.kernels[i].schedule = variant.kernels[i].schedule;
    }
    variant.program.numerics = program.numerics;
    variant.program.recorded_ops = program.recorded_ops;
    variant.program.facts.alignment = variant.alignment;
    // Nothing in the file uses the symbols that stay 0, which the file does not have.
    std::vector<std::int64_t>& sizes = variant.program.facts.symbols;
    sizes.assign(graph.data().extents->symbols().size(), 0);
    for (std::size_t i = 0; i < atoms.size(); ++i)
      if (atoms[i]) sizes[static_cast<std::size_t>(atoms[i]->id)] = saved.sizes[i];
  }
  return kernels;
}

}  // namespace sinter
