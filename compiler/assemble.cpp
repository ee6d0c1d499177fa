#include "compiler/assemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "compiler/access.h"
#include "ir/structural.h"
#include "sinter/error.h"

namespace sinter {

namespace {

class Assembler {
 public:
  Assembler(Program& program, const Groups& groups) : program_(program), groups_(groups) {}

  void run(const std::function<std::string(int, int)>& reason) {
    add_bound_buffers();
    order_groups();
    for (const int group : order_) add_kernel(group);
    add_dependencies();
    add_updates();
    add_boundaries(reason);
  }

 private:
  const GraphData& graph() const { return program_.graph->data(); }

  int add_buffer(Buffer buffer) {
    buffer.elements = span_of(buffer.node->shape, buffer.strides);
    program_.buffers.push_back(std::move(buffer));
    return static_cast<int>(program_.buffers.size()) - 1;
  }

  void add_bound_buffers() {
    for (std::size_t i = 0; i < graph().inputs.size(); ++i) {
      const InputInfo& input = graph().inputs[i];
      if (input.node->op != Op::input) continue;
      program_.buffer_of[input.node] = add_buffer({.kind = Buffer::Kind::input,
                                                   .index = static_cast<int>(i),
                                                   .node = input.node,
                                                   .dtype = input.node->dtype,
                                                   .strides = strides_of(*input.node),
                                                   .name = input.name});
    }
    for (std::size_t i = 0; i < graph().outputs.size(); ++i) {
      const OutputInfo& output = graph().outputs[i];
      if (output.is_left_out) continue;
      const int buffer = add_buffer({.kind = Buffer::Kind::output,
                                     .index = static_cast<int>(i),
                                     .node = output.node,
                                     .dtype = output.node->dtype,
                                     .strides = strides_of(output),
                                     .name = output.name});
      program_.buffer_of.try_emplace(output.node, buffer);
    }
  }

  /// Groups by Kahn's algorithm, always taking the one that was recorded first.
  void order_groups() {
    std::vector<int> waiting(static_cast<std::size_t>(groups_.size()), 0);
    const auto later = [&](int a, int b) {
      return groups_[a].nodes.back()->id > groups_[b].nodes.back()->id;
    };
    std::vector<int> ready;
    for (int group = 0; group < groups_.size(); ++group) {
      if (!groups_[group].alive) continue;
      waiting[static_cast<std::size_t>(group)] = static_cast<int>(groups_.producers(group).size());
      if (waiting[static_cast<std::size_t>(group)] == 0) ready.push_back(group);
    }
    std::ranges::make_heap(ready, later);
    while (!ready.empty()) {
      std::ranges::pop_heap(ready, later);
      const int group = ready.back();
      ready.pop_back();
      order_.push_back(group);
      for (const int consumer : groups_.consumers(group)) {
        if (--waiting[static_cast<std::size_t>(consumer)] > 0) continue;
        ready.push_back(consumer);
        std::ranges::push_heap(ready, later);
      }
    }
    const auto alive = std::ranges::count_if(std::views::iota(0, groups_.size()),
                                             [&](int group) { return groups_[group].alive; });
    ensure(static_cast<std::ptrdiff_t>(order_.size()) == alive, "the kernels wait for one another");
  }

  void add_kernel(int group) {
    Kernel kernel{.name = fmt::format("{}_{}", graph().name, program_.kernels.size()),
                  .nodes = groups_[group].nodes};
    for (const Node* node : groups_.stores(group)) {
      bool is_output = false;
      for (std::size_t buffer = 0; buffer < program_.buffers.size(); ++buffer) {
        if (program_.buffers[buffer].kind != Buffer::Kind::output ||
            program_.buffers[buffer].node != node)
          continue;
        kernel.stores.push_back({.node = node, .buffer = static_cast<int>(buffer)});
        is_output = true;
      }
      if (is_output) continue;
      const int buffer = add_buffer({.kind = Buffer::Kind::temporary,
                                     .index = 0,
                                     .node = node,
                                     .dtype = node->dtype,
                                     .strides = row_major_strides(node->shape),
                                     .name = groups_.name(node)});
      program_.buffer_of[node] = buffer;
      kernel.stores.push_back({.node = node, .buffer = buffer});
    }
    kernel_of_.push_back(group);
    program_.kernels.push_back(std::move(kernel));
  }

  int kernel_of_group(int group) const {
    return static_cast<int>(std::ranges::find(kernel_of_, group) - kernel_of_.begin());
  }

  void add_dependencies() {
    for (std::size_t i = 0; i < kernel_of_.size(); ++i)
      for (const int producer : groups_.producers(kernel_of_[i]))
        program_.kernels[i].depends_on.push_back(kernel_of_group(producer));
    for (Kernel& kernel : program_.kernels) std::ranges::sort(kernel.depends_on);
  }

  // --- updates ----------------------------------------------------------------------------------

  /// True if `to` is `from` or waits for it.
  bool reaches(int from, int to) const {
    std::vector<bool> seen(program_.kernels.size(), false);
    std::vector<int> pending = {to};
    while (!pending.empty()) {
      const auto at = static_cast<std::size_t>(pending.back());
      pending.pop_back();
      if (static_cast<int>(at) == from) return true;
      if (seen[at]) continue;
      seen[at] = true;
      for (const int before : program_.kernels[at].depends_on) pending.push_back(before);
    }
    return false;
  }

  /// Kernels but `writer` that read the old contents of `parameter`.
  std::vector<int> readers_of(const Node* parameter, int writer) const {
    std::vector<int> result;
    for (std::size_t i = 0; i < kernel_of_.size(); ++i) {
      const std::vector<const Node*> loads = groups_.loads(kernel_of_[i]);
      if (static_cast<int>(i) != writer && std::ranges::find(loads, parameter) != loads.end())
        result.push_back(static_cast<int>(i));
    }
    return result;
  }

  /// True if each element of `parameter` is read solely by the thread that writes it.
  bool reads_where_it_writes(int kernel, const Node* parameter, const Node* value) const {
    BodyAnswer answer = groups_.body(kernel_of_[static_cast<std::size_t>(kernel)], -1);
    ensure(static_cast<bool>(answer), "a kernel has no body");
    for (const BodyStore& store : answer.body.stores) {
      if (store.node != value) continue;
      const Index at = address(answer.body.space, store.position, strides_of(*parameter));
      for (const Value& load : answer.body.values) {
        if (load.kind != Value::Kind::load || load.node != parameter) continue;
        // Others than the one that stores read it too.
        if (!store.conditions.empty()) return false;
        if (load.at != at || load.varies != store.varies || load.stage > store.stage) return false;
        // A pass after the store would read the new contents.
        if (answer.body.passes() > store.stage + 1) return false;
      }
    }
    return true;
  }

  void add_updates() {
    for (const UpdateInfo& update : graph().updates) {
      const int target = program_.buffer_of.lookup(update.parameter);
      const int writer = kernel_of_group(groups_.home(update.value));
      const std::vector<int> readers = readers_of(update.parameter, writer);
      const bool in_place =
          reads_where_it_writes(writer, update.parameter, update.value) &&
          std::ranges::none_of(readers, [&](int reader) { return reaches(writer, reader); });
      if (in_place)
        store_in_place(writer, update, target, readers);
      else
        copy_back(writer, update, target, readers);
    }
  }

  void store_in_place(int writer, const UpdateInfo& update, int target,
                      std::span<const int> readers) {
    Kernel& kernel = program_.kernels[static_cast<std::size_t>(writer)];
    const auto own = std::ranges::find(kernel.stores, update.value, &Store::node);
    ensure(own != kernel.stores.end(), "an updated value is not stored");
    const int old = own->buffer;
    if (program_.buffers[static_cast<std::size_t>(old)].kind == Buffer::Kind::temporary) {
      // The temporary is not needed: everybody reads the parameter instead.
      own->buffer = target;
      program_.buffer_of[update.value] = target;
      program_.buffers[static_cast<std::size_t>(old)].elements = 0;
    } else {
      kernel.stores.push_back({.node = update.value, .buffer = target});
    }
    add_edges(writer, readers);
  }

  void copy_back(int writer, const UpdateInfo& update, int target, std::span<const int> readers) {
    const int place = static_cast<int>(program_.kernels.size());
    Kernel copy{.name = fmt::format("{}_{}", graph().name, place), .nodes = {}};
    copy.stores.push_back({.node = update.value, .buffer = target});
    copy.depends_on.push_back(writer);
    copy.notes.push_back(
        fmt::format("{} is not written in place: another element or a later kernel still reads its "
                    "old contents",
                    groups_.name(update.parameter)));
    program_.kernels.push_back(std::move(copy));
    add_edges(place, readers);
  }

  void add_edges(int kernel, std::span<const int> before) {
    std::vector<int>& edges = program_.kernels[static_cast<std::size_t>(kernel)].depends_on;
    edges.insert(edges.end(), before.begin(), before.end());
    std::ranges::sort(edges);
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  }

  void add_boundaries(const std::function<std::string(int, int)>& reason) {
    for (std::size_t i = 0; i < kernel_of_.size(); ++i)
      for (const int producer : groups_.producers(kernel_of_[i]))
        program_.boundaries.push_back(
            {.producer = program_.kernels[static_cast<std::size_t>(kernel_of_group(producer))].name,
             .consumer = program_.kernels[i].name,
             .reason = reason(producer, kernel_of_[i])});
    add_sibling_boundaries(reason);
  }

  /// Kernels one after the other that read the same array, which one kernel would read once.
  void add_sibling_boundaries(const std::function<std::string(int, int)>& reason) {
    llvm::DenseMap<const Node*, std::size_t> last_reader;
    for (std::size_t i = 0; i < kernel_of_.size(); ++i)
      for (const Node* node : groups_.loads(kernel_of_[i])) {
        const auto [last, is_first] = last_reader.try_emplace(node, i);
        const std::size_t before = std::exchange(last->second, i);
        if (is_first || product(node->shape).is(1) || is_boundary(before, i)) continue;
        program_.boundaries.push_back(
            {.producer = program_.kernels[before].name,
             .consumer = program_.kernels[i].name,
             .reason = fmt::format("both read {}: {}", groups_.name(node),
                                   reason(kernel_of_[before], kernel_of_[i]))});
      }
  }

  /// True if the one kernel reads what the other stores.
  bool is_boundary(std::size_t producer, std::size_t consumer) const {
    return std::ranges::any_of(program_.boundaries, [&](const Boundary& boundary) {
      return boundary.producer == program_.kernels[producer].name &&
             boundary.consumer == program_.kernels[consumer].name;
    });
  }

  Program& program_;
  const Groups& groups_;
  std::vector<int> order_;
  std::vector<int> kernel_of_;  ///< kernel → group
};

/// Kernels in an order that keeps the edges which updates added.
void sort_kernels(Program& program) {
  const std::size_t count = program.kernels.size();
  std::vector<int> place(count, -1);
  std::vector<Kernel> sorted;
  while (sorted.size() < count) {
    const std::size_t before = sorted.size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::vector<int>& edges = program.kernels[i].depends_on;
      const bool ready = place[i] < 0 && std::ranges::all_of(edges, [&](int edge) {
                           return place[static_cast<std::size_t>(edge)] >= 0;
                         });
      if (!ready) continue;
      place[i] = static_cast<int>(sorted.size());
      sorted.push_back(program.kernels[i]);
    }
    ensure(sorted.size() > before, "updates make the kernels wait for one another");
  }
  for (Kernel& kernel : sorted) {
    for (int& edge : kernel.depends_on) edge = place[static_cast<std::size_t>(edge)];
    std::ranges::sort(kernel.depends_on);
  }
  program.kernels = std::move(sorted);
}

}  // namespace

void assemble(Program& program, const Groups& groups,
              const std::function<std::string(int, int)>& reason) {
  Assembler(program, groups).run(reason);
  sort_kernels(program);
}

}  // namespace sinter
