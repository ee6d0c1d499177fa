#include "compiler/schedule/schedule_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "compiler/body/body_request.h"
#include "compiler/body/kernel_key.h"
#include "compiler/body_building/build_body.h"
#include "compiler/candidates/candidates.h"
#include "compiler/cost/cost.h"
#include "compiler/program/guards.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/program/size_class.h"
#include "compiler/schedule/opaque_calls.h"
#include "compiler/tiling/kernel_kind.h"
#include "compiler/tiling/transpose_tiles.h"
#include "sinter/error.h"

namespace sinter {

namespace {

std::span<const ExtentTerm> symbolic_terms(Extent extent) {
  if (extent.is_number()) return {};
  return extent.expression()->terms;
}

/// Finds the powers of two that divide the symbols of all axes but the first. Vector accesses rely
/// on them.
void find_divisors(Program& program) {
  const std::shared_ptr<ExtentTable>& extents = program.graph->data().extents;
  program.facts.divisors.assign(extents->symbols().size(), 1);
  std::vector<bool> matters(extents->symbols().size(), false);
  for (const Buffer& buffer : program.buffers)
    for (std::size_t axis = 1; axis < buffer.node->shape.size(); ++axis)
      for (const ExtentTerm& term : symbolic_terms(buffer.node->shape[axis]))
        for (const ExtentAtom* atom : term.atoms)
          if (!atom->name.empty()) matters[static_cast<std::size_t>(atom->id)] = true;
  for (std::size_t id = 0; id < matters.size(); ++id) {
    const std::int64_t value = program.facts.symbols[id];
    if (!matters[id] || value == 0) continue;
    std::int64_t divisor = 1;
    while (divisor < 16 && value % (divisor * 2) == 0) divisor *= 2;
    program.facts.divisors[id] = divisor;
    if (divisor > 1)
      add_guard(program.guards, {.value = extents->symbol(extents->symbols()[id]->name),
                                 .divisor = divisor,
                                 .reason = "vectors of consecutive elements are aligned"});
  }
}

void guard_32_bits(Program& program, Extent value) {
  add_guard(program.guards, {.value = value, .high = kLargestIndex, .reason = "32-bit indices"});
}

void guard_size_class(Program& program, Extent extent, SizeClass sizes, std::string reason) {
  if (extent.is_number()) return;
  add_guard(program.guards,
            {.value = extent, .low = sizes.low, .high = sizes.high, .reason = std::move(reason)});
}

/// Guards that `extent` keeps its reduction tree: the same number of parts and of accumulators.
void guard_tree(Program& program, Extent extent) {
  guard_size_class(program, extent, class_of_tree(evaluate(extent, program.facts.symbols)),
                   "the shape of the reduction tree");
}

/// Guards that a scan of `extent` keeps its tile of chunks. Longer extents use full tiles.
void guard_scan(Program& program, Extent extent) {
  if (extent.is_number()) return;
  const std::int64_t chunks = scan_chunks(evaluate(extent, program.facts.symbols));
  Guard guard{.value = extent, .reason = "the tile of a scan"};
  if (chunks < kScanChunks)
    guard.high = chunks * kChunk;
  else
    guard.low = kScanChunks / 2 * kChunk + 1;
  add_guard(program.guards, std::move(guard));
}

void add_notes(Kernel& kernel, const Body& body, const Facts& facts) {
  const TiledAccesses tiled =
      kernel.schedule.tile > 0 ? tiled_accesses(body, facts) : TiledAccesses{};
  for (std::size_t i = 0; i < body.values.size(); ++i) {
    const Value& value = body.values[i];
    if (value.kind != Value::Kind::load) continue;
    if (tiled.has_load(static_cast<int>(i))) continue;
    const bool is_scan_of_rows = body.scan && !is_contiguous_across_rows(body, facts);
    const bool has_rows = is_scan_of_rows || kernel.kind == KernelKind::row_reduce ||
                          kernel.kind == KernelKind::row_column_reduce ||
                          kernel.kind == KernelKind::full_reduce;
    const int axis = has_rows ? body.reduced_axis() : body.parallel_axes - 1;
    if (axis < 0 || !depends_on(value.at, axis)) continue;
    const std::optional<Extent> step = coefficient_of(value.at, axis);
    if (!step || !step->is(1))
      kernel.notes.push_back(fmt::format(
          "{} is read element by element: neighbouring threads find it {} elements apart",
          info(value.node->op).name == "input" ? "an input"
                                               : std::string(info(value.node->op).name),
          step ? to_string(*step) : "an irregular number of"));
  }
  if (kernel.kind != KernelKind::pointwise && body.passes() > 1 && !kernel.schedule.resident)
    kernel.notes.push_back(
        fmt::format("rows of {} elements are read {} times: they do not stay in "
                    "registers",
                    evaluate(body.reduced_size(), facts.symbols), body.passes()));
}

void set_extents(Kernel& kernel, const Body& body) {
  kernel.parallel.clear();
  for (int axis = 0; axis < body.parallel_axes; ++axis)
    kernel.parallel.push_back(body.space.extent(axis));
  kernel.reduced = body.reduced_size();
  // Indices count the elements of both the source and the result.
  if (body.scatter) kernel.parallel[0] = body.space.extent(0) + body.space.extent(2);
}

/// Schedules the kernels of a program. Among equal kernels it schedules the first one, and the
/// others copy its schedule.
class Scheduler {
 public:
  Scheduler(Program& program, const Target& target)
      : program_(program), target_(target), keys_(program.graph->data()) {
    find_divisors(program);
    do_buffers_fit_ = buffers_fit(program);
  }

  void run() {
    std::vector<std::uint64_t> hashes;
    hashes.reserve(program_.kernels.size());
    for (const Kernel& kernel : program_.kernels) hashes.push_back(kernel_hash(kernel));
    std::unordered_map<std::uint64_t, int> count_by_hash;
    for (const std::uint64_t hash : hashes) ++count_by_hash[hash];
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      if (program_.kernels[i].kind == KernelKind::opaque) {
        schedule_call(program_, program_.kernels[i], target_);
        continue;
      }
      const bool is_unique = count_by_hash[hashes[i]] == 1;
      set_reads(program_.kernels[i], is_unique ? schedule(i) : schedule_or_copy(i));
    }
    guard_residency();
  }

 private:
  /// Guards the size classes of rows and columns that several passes or kernels read. The choice
  /// of kernels and schedules depends on whether the longest of a class stay resident.
  void guard_residency() {
    std::vector<Extent> extents = kept_extents_;
    for (const Kernel& kernel : program_.kernels)
      if (kernel.kind != KernelKind::scan && kernel.kind != KernelKind::scatter)
        extents.push_back(kernel.reduced);
    for (auto extent = extents.begin(); extent != extents.end(); ++extent)
      if (std::find(extents.begin(), extent, *extent) != extent)
        guard_size_class(program_, *extent, class_of_residency(*extent, program_.facts),
                         "the space of resident rows");
  }

  /// Schedules a kernel, or copies the schedule of an equal one. Returns the nodes that it loads.
  std::vector<const Node*> schedule_or_copy(std::size_t number) {
    Kernel& kernel = program_.kernels[number];
    const std::vector<StoreRequest> stores = stores_of(program_, kernel);
    const KernelKey& key = keys_.of(request_of(program_, kernel, stores));
    std::vector<const Node*> loads;
    if (const Scheduled* source = known_.find(key)) {
      copy_schedule(kernel, program_.kernels[source->kernel], source->notes_before);
      for (const int position : source->loads) loads.push_back(keys_.node_at(position));
      return loads;
    }
    Scheduled scheduled{.kernel = number, .notes_before = kernel.notes.size(), .loads = {}};
    loads = schedule(number);
    for (const Node* node : loads) scheduled.loads.push_back(keys_.position(node));
    known_.add(key, std::move(scheduled));
    return loads;
  }

  /// Sorts the reads by buffer.
  void set_reads(Kernel& kernel, std::span<const Node* const> loads) {
    kernel.reads.reserve(loads.size());
    for (const Node* node : loads) {
      const auto found = program_.buffer_of.find(node);
      ensure(found != program_.buffer_of.end(), "a kernel reads a value that no kernel stores");
      kernel.reads.push_back(found->second);
    }
    std::ranges::sort(kernel.reads);
  }

  struct Scheduled {
    std::size_t kernel = 0;
    std::size_t notes_before = 0;  ///< notes that do not hold for equal kernels
    std::vector<int> loads;        ///< positions in the key
  };

  static void copy_schedule(Kernel& kernel, const Kernel& source, std::size_t notes_before) {
    kernel.kind = source.kind;
    kernel.parallel = source.parallel;
    kernel.reduced = source.reduced;
    kernel.schedule = source.schedule;
    kernel.candidates = source.candidates;
    kernel.bytes = source.bytes;
    kernel.seconds = source.seconds;
    kernel.notes.insert(kernel.notes.end(),
                        source.notes.begin() + static_cast<std::ptrdiff_t>(notes_before),
                        source.notes.end());
  }

  /// Returns the nodes that the kernel loads.
  std::vector<const Node*> schedule(std::size_t number) {
    ++program_.work.kernels_scheduled;
    Kernel& kernel = program_.kernels[number];
    const Body body = body_of(program_, kernel);
    const Facts& facts = program_.facts;
    set_extents(kernel, body);
    // Only row kernels have a last block that reduces the values of all rows. A kernel fused for
    // that purpose stays a row kernel, even if the memory layout of its operands has changed since.
    kernel.kind = body.finals.empty() ? kind_of(body, target_, facts) : KernelKind::row_reduce;
    add_guards(kernel, body);
    std::vector<Schedule> choices = candidates(kernel.kind, body, target_, facts);
    ensure(!choices.empty(), "kernel " + kernel.name + " has no schedule");
    guard_vectors(body, choices);
    // Tiles have space for the longest rows of the size class.
    if (std::ranges::any_of(choices, [](const Schedule& choice) { return choice.tile > 0; }) &&
        body.has_reduced_axis && !body.scan)
      kept_extents_.push_back(body.reduced_size());
    kernel.schedule = choices.front();
    kernel.candidates = SharedSchedules(std::move(choices));
    add_notes(kernel, body, facts);
    const Cost cost = cost_of(body, target_, facts);
    kernel.bytes = cost.bytes_read + cost.bytes_written;
    kernel.seconds = cost.seconds;
    std::vector<const Node*> loads;
    for (const Value& value : body.values)
      if (value.kind == Value::Kind::load) loads.push_back(value.node);
    std::ranges::sort(loads);
    loads.erase(std::unique(loads.begin(), loads.end()), loads.end());
    return loads;
  }

  /// Guards that no vector of a schedule crosses the end of a part of a row. Kernels for CPUs have
  /// shorter vectors there.
  void guard_vectors(const Body& body, std::span<const Schedule> choices) {
    if (choices.front().is_for_cpu()) return;
    const std::int64_t parts = tree_of(evaluate(body.reduced_size(), program_.facts.symbols)).parts;
    if (parts == 1 || body.scan || body.scatter || reduces_columns(body, program_.facts)) return;
    const int widest = std::ranges::max(choices, {}, &Schedule::vector).vector;
    add_guard(program_.guards, {.value = chunks_per_part(body.reduced_size(), parts),
                                .divisor = std::max<std::int64_t>(widest / kChunk, 1),
                                .reason = "vectors end at the ends of parts"});
  }

  void add_guards(const Kernel& kernel, const Body& body) {
    if (do_buffers_fit_ && iterations_fit(program_, kernel)) {
      if (!std::exchange(are_buffers_guarded_, true))
        for (const Buffer& buffer : program_.buffers) guard_32_bits(program_, buffer.elements);
      guard_32_bits(program_, iterations(kernel));
    }
    if (body.scan)
      guard_scan(program_, body.reduced_size());
    else if (body.has_reduced_axis)
      guard_tree(program_, body.reduced_size());
    if ((body.passes() > 1 || !body.columns.empty()) && !body.scan)
      kept_extents_.push_back(body.reduced_size());
    if (!body.finals.empty() || !body.columns.empty()) guard_tree(program_, body.parallel_size());
    for (const Extent extent : body.at_least_one)
      add_guard(
          program_.guards,
          {.value = extent, .low = 1, .reason = "the first position stores a smaller result"});
  }

  Program& program_;
  const Target& target_;
  KernelKeys keys_;
  KernelKeyMap<Scheduled> known_;
  std::vector<Extent> kept_extents_;  ///< reduced extents of kernels that keep rows or columns
  bool do_buffers_fit_ = false;
  bool are_buffers_guarded_ = false;
};

}  // namespace

void schedule(Program& program, const Target& target) { Scheduler(program, target).run(); }

}  // namespace sinter
