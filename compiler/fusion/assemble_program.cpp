#include "compiler/fusion/assemble_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <utility>

#include "compiler/body/access.h"
#include "compiler/body/body_request.h"
#include "compiler/fusion/concat_placement.h"
#include "compiler/fusion/store_views.h"
#include "compiler/program/sort_kernels.h"
#include "ir/graph/operand_index.h"
#include "ir/support/sort_unique.h"
#include "sinter/error.h"

namespace sinter {

namespace {

class Assembler {
 public:
  Assembler(Program& program, GreedyFuser& fuser, bool fuses)
      : program_(program),
        fuser_(fuser),
        fuses_(fuses),
        groups_(fuser.groups),
        output_view_of_(values_stored_as_output_views(graph())) {}

  void run() {
    add_bound_buffers();
    add_segments();
    read_segments_of_results();
    order_groups();
    reserve_temporaries();
    std::erase_if(order_, [&](int group) { return groups_[group].is_placed; });
    kernel_of_.assign(static_cast<std::size_t>(groups_.size()), -1);
    program_.kernels.reserve(order_.size());
    for (const int group : order_) {
      kernel_of_[static_cast<std::size_t>(group)] = static_cast<int>(program_.kernels.size());
      add_kernel(group);
    }
    add_dependencies();
    add_updates();
    add_boundaries();
  }

 private:
  const GraphData& graph() const { return program_.graph->data(); }

  /// Adds `buffer`, and sets its dtype and elements.
  int add_buffer(Buffer buffer) {
    buffer.dtype = buffer.node->dtype;
    buffer.elements = strided_end(buffer.node->shape, buffer.strides);
    program_.buffers.push_back(std::move(buffer));
    return static_cast<int>(program_.buffers.size()) - 1;
  }

  void add_bound_buffers() {
    program_.buffers.reserve(graph().inputs.size() + graph().outputs.size());
    for (std::size_t i = 0; i < graph().inputs.size(); ++i) {
      const InputInfo& input = graph().inputs[i];
      if (input.node->op != Op::input) continue;
      program_.buffer_of[input.node] = add_buffer({.kind = Buffer::Kind::input,
                                                   .index = static_cast<int>(i),
                                                   .node = input.node,
                                                   .strides = strides_of(*input.node),
                                                   .name = input.name});
    }
    for (std::size_t i = 0; i < graph().outputs.size(); ++i) {
      const OutputInfo& output = graph().outputs[i];
      if (output.is_unwritten) continue;
      const int buffer = add_buffer({.kind = Buffer::Kind::output,
                                     .index = static_cast<int>(i),
                                     .node = output.node,
                                     .strides = strides_of(output),
                                     .name = output.name});
      program_.buffer_of.try_emplace(output.node, buffer);
      outputs_of_[output.node].push_back(buffer);
    }
  }

  /// Adds a sub-buffer for each segment of each placed concat.
  void add_segments() {
    for (int group = 0; group < groups_.size(); ++group) {
      if (!groups_[group].alive || !groups_[group].is_placed) continue;
      const Node* node = groups_[group].nodes.front();
      const auto outputs = outputs_of_.find(node);
      if (outputs == outputs_of_.end()) {
        add_segments_of(add_temporary(node));
      } else {
        for (const int parent : outputs->second) add_segments_of(parent);
      }
    }
  }

  /// If a kernel stores a value and also an output concat that contains it, readers use the segment
  /// of the concat. The kernel then stores the value once.
  void read_segments_of_results() {
    for (int group = 0; group < groups_.size(); ++group) {
      if (!groups_[group].alive || groups_[group].is_placed) continue;
      for (const Node* node : groups_[group].stores)
        if (node->op == Op::concat && outputs_of_.contains(node) &&
            std::ranges::find(graph().updates, node, &UpdateInfo::value) == graph().updates.end())
          read_segments_of(group, outputs_of_.lookup(node).front());
    }
  }

  void read_segments_of(int group, int parent) {
    for (const std::optional<PlacedSegment>& segment : segments_of_buffer(parent))
      if (segment && groups_.home(segment->node) == group && !groups_.is_result(segment->node) &&
          !sub_buffers_of_.contains(segment->node) && has_long_runs(*segment, program_.facts) &&
          remove_store(group, segment->node))
        program_.buffer_of[segment->node] = add_segment(parent, *segment);
  }

  /// The segments of a buffer of a concat.
  std::vector<std::optional<PlacedSegment>> segments_of_buffer(int buffer) const {
    const Buffer& concat = program_.buffers[static_cast<std::size_t>(buffer)];
    return segments_of(*concat.node, concat.strides);
  }

  /// Leaves out the store of `node` in `group`, which also stores `node` in another form. Returns
  /// false if the group does not store `node` anyway, or has no body without that store.
  bool remove_store(int group, const Node* node) {
    const Nodes& stores = groups_[group].stores;
    if (std::ranges::find(stores, node) == stores.end() || !stored_elsewhere_.insert(node).second)
      return false;
    if (groups_.body(kernel_nodes(group), [](const Node*) { return std::string(); })) return true;
    stored_elsewhere_.erase(node);
    return false;
  }

  /// The nodes of `group`, and its stores except those that are left out.
  Groups::KernelNodes kernel_nodes(int group) const {
    Groups::KernelNodes kernel = groups_.kernel_nodes(group);
    const auto out = std::ranges::remove_if(kernel.stores, [&](const StoreRequest& store) {
      return stored_elsewhere_.contains(store.node);
    });
    kernel.stores.erase(out.begin(), out.end());
    return kernel;
  }

  void add_segments_of(int parent) {
    for (const std::optional<PlacedSegment>& segment : segments_of_buffer(parent)) {
      ensure(segment.has_value(), "a placed concat has a segment that no kernel can store");
      sub_buffers_of_[segment->node].push_back(add_segment(parent, *segment));
    }
  }

  int add_segment(int parent, const PlacedSegment& segment) {
    const Buffer& all = program_.buffers[static_cast<std::size_t>(parent)];
    return add_buffer(
        {.kind = all.kind,
         .index = all.index,
         .node = segment.node,
         .strides = segment.strides,
         .name = all.kind == Buffer::Kind::temporary ? std::string() : groups_.name(segment.node),
         .parent = parent,
         .offset = segment.offset});
  }

  /// Adds the temporary that readers of `node` use.
  int add_temporary(const Node* node) {
    const int buffer = add_buffer({.node = node, .strides = row_major_strides(node->shape)});
    program_.buffer_of[node] = buffer;
    return buffer;
  }

  /// Orders the groups by Kahn's algorithm. Among the ready groups, takes the one whose last node
  /// was recorded first.
  void order_groups() {
    std::vector<int> waiting(static_cast<std::size_t>(groups_.size()), 0);
    const auto later = [&](int a, int b) {
      return groups_[a].nodes.back()->id > groups_[b].nodes.back()->id;
    };
    std::vector<int> first;
    std::size_t alive = 0;
    for (int group = 0; group < groups_.size(); ++group) {
      if (!groups_[group].alive) continue;
      ++alive;
      waiting[static_cast<std::size_t>(group)] = static_cast<int>(groups_.producers(group).size());
      if (waiting[static_cast<std::size_t>(group)] == 0) first.push_back(group);
    }
    std::priority_queue ready(later, std::move(first));
    while (!ready.empty()) {
      const int group = ready.top();
      ready.pop();
      order_.push_back(group);
      for (const int consumer : groups_.consumers(group))
        if (--waiting[static_cast<std::size_t>(consumer)] == 0) ready.push(consumer);
    }
    ensure(order_.size() == alive, "the kernels form a cycle");
  }

  void add_kernel(int group) {
    Kernel kernel{.name = fmt::format("{}_{}", graph().name, program_.kernels.size()),
                  .nodes = {groups_[group].nodes.begin(), groups_[group].nodes.end()}};
    if (groups_[group].is_call) kernel.kind = KernelKind::opaque;
    for (const Node* node : groups_[group].stores) {
      if (stored_elsewhere_.contains(node)) continue;
      llvm::SmallVector<int, 1> buffers = outputs_of_.lookup(node);
      const llvm::SmallVector<int, 1> segments = sub_buffers_of_.lookup(node);
      if (!segments.empty()) program_.buffer_of.try_emplace(node, segments.front());
      buffers.append(segments.begin(), segments.end());
      if (buffers.empty() && try_read_from_output(group, node)) continue;
      if (buffers.empty()) buffers.push_back(add_temporary(node));
      for (const int buffer : buffers) kernel.stores.push_back({.node = node, .buffer = buffer});
    }
    program_.kernels.push_back(std::move(kernel));
  }

  /// Lets readers of `node` use a sub-buffer of an output that `group` stores, so that `group` need
  /// not store `node`. The output must have the same elements in the order in which readers use
  /// them. Returns false, without a change, if there is no such output.
  bool try_read_from_output(int group, const Node* node) {
    const Node* view = output_view_of_.lookup(node);
    if (!view || groups_.home(view) != group) return false;
    const int parent = outputs_of_.lookup(view).front();
    std::optional<std::vector<Extent>> strides =
        program_.buffers[static_cast<std::size_t>(parent)].strides;
    for (; view != node && strides; view = view->operand(0))
      strides = strides_before(*view, *strides);
    if (!strides || !remove_store(group, node)) return false;
    program_.buffer_of[node] = add_segment(parent, {.node = node, .strides = std::move(*strides)});
    return true;
  }

  /// Counts the temporaries first: buffers are large, so moving them is expensive.
  void reserve_temporaries() {
    std::size_t count = program_.buffers.size();
    for (const int group : order_)
      count += static_cast<std::size_t>(std::ranges::count_if(
          groups_[group].stores, [&](const Node* node) { return !groups_.is_result(node); }));
    program_.buffers.reserve(count);
  }

  int kernel_of(int group) const { return kernel_of_[static_cast<std::size_t>(group)]; }

  /// The groups whose kernels store the values that `group` reads. For a placed concat, these are
  /// all of its producers.
  std::vector<int> writers_for(int group) {
    std::vector<int> result;
    for (const int producer : groups_.producers(group)) {
      if (!groups_[producer].is_placed) {
        result.push_back(producer);
        continue;
      }
      const GroupNumbers behind = groups_.producers(producer);
      result.insert(result.end(), behind.begin(), behind.end());
    }
    sort_unique(result);
    return result;
  }

  void add_dependencies() {
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (const int producer : writers_for(order_[i]))
        program_.kernels[i].depends_on.push_back(kernel_of(producer));
    for (Kernel& kernel : program_.kernels) std::ranges::sort(kernel.depends_on);
  }

  // --- updates ----------------------------------------------------------------------------------

  /// True if `to` is `from` or depends on it.
  bool reaches(int from, int to) const {
    DenseSet<int> seen;
    std::vector<int> pending = {to};
    while (!pending.empty()) {
      const int at = pending.back();
      pending.pop_back();
      if (at == from) return true;
      // Kernels depend on earlier kernels only, unless an update depends on later readers.
      if ((at < from && !has_later_readers_) || !seen.insert(at).second) continue;
      for (const int before : program_.kernels[static_cast<std::size_t>(at)].depends_on)
        pending.push_back(before);
    }
    return false;
  }

  /// Finds the kernels that read each updated parameter.
  void find_readers() {
    for (const UpdateInfo& update : graph().updates) readers_[update.parameter];
    if (readers_.empty()) return;
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (const Node* node : groups_[order_[i]].loads)
        if (const auto found = readers_.find(node); found != readers_.end())
          found->second.push_back(static_cast<int>(i));
  }

  /// True if each element of `parameter` is read only by the thread that writes it.
  bool is_read_only_by_writer_thread(int kernel, const Node* parameter, const Node* value) const {
    BodyAnswer answer = groups_.body(kernel_nodes(order_[static_cast<std::size_t>(kernel)]),
                                     [&](const Node* node) { return groups_.name(node); });
    ensure(static_cast<bool>(answer), "a kernel has no body");
    Body& body = answer.body;
    const auto is_own = [&](const Value& load, const BodyStore& store) {
      // With conditions, threads that do not store the element read it too.
      if (store.node != value || !store.conditions.empty()) return false;
      if (load.at != address(body.space, store.position, strides_of(*parameter))) return false;
      if (load.varies != store.varies || load.stage > store.stage) return false;
      // A scan loads and stores a per-row value repeatedly along the row.
      if (body.scan && !store.varies) return false;
      // A pass after the store would read the new contents.
      return body.passes() <= store.stage + 1;
    };
    for (const Value& load : body.values)
      if (load.kind == Value::Kind::load && load.node == parameter &&
          std::ranges::none_of(body.stores,
                               [&](const BodyStore& store) { return is_own(load, store); }))
        return false;
    return true;
  }

  void add_updates() {
    find_readers();
    for (const UpdateInfo& update : graph().updates) {
      const int target = program_.buffer_of.lookup(update.parameter);
      const int writer = kernel_of(groups_.home(update.value));
      std::vector<int> readers = readers_[update.parameter];
      std::erase(readers, writer);
      const bool in_place =
          is_read_only_by_writer_thread(writer, update.parameter, update.value) &&
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
    if (const Buffer& memory = program_.buffers[static_cast<std::size_t>(old)];
        memory.kind == Buffer::Kind::temporary && memory.parent < 0) {
      // The temporary is not needed: readers use the parameter instead.
      own->buffer = target;
      program_.buffer_of[update.value] = target;
      program_.buffers[static_cast<std::size_t>(old)].elements = 0;
    } else {
      kernel.stores.push_back({.node = update.value, .buffer = target});
    }
    add_edges(writer, readers);
  }

  void copy_back(int writer, const UpdateInfo& update, int target, std::span<const int> readers) {
    const int number = static_cast<int>(program_.kernels.size());
    Kernel copy{.name = fmt::format("{}_{}", graph().name, number), .nodes = {}};
    copy.stores.push_back({.node = update.value, .buffer = target});
    copy.depends_on.push_back(writer);
    copy.notes.push_back(
        fmt::format("{} is not written in place: another element or a later kernel still reads its "
                    "old contents",
                    groups_.name(update.parameter)));
    program_.kernels.push_back(std::move(copy));
    add_edges(number, readers);
  }

  void add_edges(int kernel, std::span<const int> before) {
    std::vector<int>& edges = program_.kernels[static_cast<std::size_t>(kernel)].depends_on;
    edges.insert(edges.end(), before.begin(), before.end());
    has_later_readers_ |= std::ranges::any_of(before, [&](int reader) { return reader > kernel; });
    sort_unique(edges);
  }

  // --- boundaries -------------------------------------------------------------------------------

  /// Two separate kernels that share a value.
  struct Pair {
    int producer;
    int consumer;
    const Node* concat = nullptr;  ///< the placed concat between them
    const Node* read_by_both = nullptr;
  };

  void add_boundaries() {
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (const int producer : groups_.producers(order_[i])) {
        if (groups_[producer].is_placed)
          add_pairs_across(producer, static_cast<int>(i));
        else
          add_pair({.producer = kernel_of(producer), .consumer = static_cast<int>(i)});
      }
    add_sibling_pairs();
    has_boundary_ = {};
    // Boundaries are many and large, so memory for all of them is reserved first.
    program_.boundaries.reserve(pairs_.size());
    for (const Pair& pair : pairs_)
      program_.boundaries.push_back(
          {.producer = program_.kernels[static_cast<std::size_t>(pair.producer)].name,
           .consumer = program_.kernels[static_cast<std::size_t>(pair.consumer)].name,
           .reason = reason_text(pair),
           // Through a placed concat: the bytes between the producer and the concat.
           .bytes = fuser_.bytes_between(group_of(pair.producer), pair.concat
                                                                      ? groups_.home(pair.concat)
                                                                      : group_of(pair.consumer))});
  }

  int group_of(int kernel) const { return order_[static_cast<std::size_t>(kernel)]; }

  std::string reason_text(const Pair& pair) const {
    if (pair.concat)
      return fmt::format("{} is available only after all kernels have stored their segments of it",
                         groups_.name(pair.concat));
    std::string why =
        fuses_ ? fuser_.reason(group_of(pair.producer), group_of(pair.consumer)) : "fusion is off";
    if (!pair.read_by_both) return why;
    return fmt::format("both read {}: {}", groups_.name(pair.read_by_both), why);
  }

  void add_pair(const Pair& pair) {
    has_boundary_.insert({pair.producer, pair.consumer});
    pairs_.push_back(pair);
  }

  void add_pairs_across(int placed, int consumer) {
    for (const int producer : groups_.producers(placed))
      if (!has_boundary_.contains({kernel_of(producer), consumer}))
        add_pair({.producer = kernel_of(producer),
                  .consumer = consumer,
                  .concat = groups_[placed].nodes.front()});
  }

  /// Adds pairs of successive readers of one array, which one kernel would read once.
  void add_sibling_pairs() {
    DenseMap<const Node*, int> last_reader;
    for (int i = 0; i < static_cast<int>(order_.size()); ++i)
      for (const Node* node : groups_[order_[static_cast<std::size_t>(i)]].loads) {
        const auto [last, is_first] = last_reader.try_emplace(node, i);
        const int before = std::exchange(last->second, i);
        if (is_first || product(node->shape).is(1) || has_boundary_.contains({before, i})) continue;
        add_pair({.producer = before, .consumer = i, .read_by_both = node});
      }
  }

  Program& program_;
  GreedyFuser& fuser_;
  bool fuses_;
  Groups& groups_;
  DenseMap<const Node*, const Node*> output_view_of_;                ///< value → output
  std::vector<int> order_;                                           ///< kernel → group
  std::vector<int> kernel_of_;                                       ///< group → kernel
  DenseMap<const Node*, llvm::SmallVector<int, 1>> outputs_of_;      ///< value → buffers
  DenseMap<const Node*, llvm::SmallVector<int, 1>> sub_buffers_of_;  ///< sub-buffers
  DenseSet<const Node*> stored_elsewhere_;                           ///< in another form only
  DenseMap<const Node*, std::vector<int>> readers_;  ///< kernels, by updated parameter
  bool has_later_readers_ = false;  ///< a kernel waits for one with a larger number
  std::vector<Pair> pairs_;
  DenseSet<std::pair<int, int>> has_boundary_;  ///< kernels that have a boundary
};

}  // namespace

void assemble(Program& program, GreedyFuser& fuser, bool fuses) {
  Assembler(program, fuser, fuses).run();
  sort_kernels(program);
}

}  // namespace sinter
