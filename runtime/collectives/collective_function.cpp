#include "runtime/collectives/collective_function.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <llvm/ADT/ScopeExit.h>

#include "ir/collectives/collective_node.h"
#include "ir/record/opaque.h"
#include "runtime/collectives/check_call.h"
#include "runtime/logging/trace.h"

namespace sinter {

namespace {

/// Sets the ranks that exchange values with `rank`.
void set_peers(CollectiveCall& call, std::span<const std::int64_t> pairs, int rank) {
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (pairs[i] == rank) call.target = static_cast<int>(pairs[i + 1]);
    if (pairs[i + 1] == rank) call.source = static_cast<int>(pairs[i]);
  }
}

CollectiveCall describe_collective(Collective kind, const OpaqueSizes& sizes, int rank) {
  CollectiveCall call{.kind = kind,
                      .dtype = sizes.inputs[0].dtype,
                      .elements = sizes.inputs[0].elements(),
                      .root = static_cast<int>(sizes.number("root", 0)),
                      .place = sizes.place,
                      .is_host_device = sizes.is_host_device,
                      .device = sizes.device};
  call.reduction = rank_reduction(sizes.text("reduction", "sum")).value_or(RankReduction::sum);
  if (kind == Collective::send_receive) set_peers(call, sizes.integers("pairs"), rank);
  return call;
}

/// The time from the first to the last host work of one collective, in a lane of its group. Its host
/// works run in order, again at each replay, and may begin before the last one is added.
class TracedCollective {
 public:
  TracedCollective(const OpaqueCall& call, int rank)
      : name_(call.function),
        group_(call.text("group")),
        rank_(rank),
        bytes_(call.inputs[0].bytes()) {}

  void add_work() {
    const std::lock_guard lock(mutex_);
    ++works_;
  }
  /// All works are added.
  void seal() {
    const std::lock_guard lock(mutex_);
    is_sealed_ = true;
    end_if_done();
  }
  void run(const std::function<void()>& work) {
    {
      const std::lock_guard lock(mutex_);
      if (done_ == 0) begin_ = TraceClock::now();
    }
    // Counted also if it throws, so that the next run starts from 0.
    const auto count = llvm::make_scope_exit([this]() noexcept {
      const std::lock_guard lock(mutex_);
      ++done_;
      end_if_done();
    });
    work();
  }

 private:
  void end_if_done() {
    if (!is_sealed_ || done_ < works_ || works_ == 0) return;
    done_ = 0;
    if (Trace::is_on())
      Trace::add_device({.name = "collectives of " + group_, .ordinal = rank_}, name_, begin_,
                        TraceClock::now() - begin_, TraceArguments().add("bytes", bytes_));
  }

  const std::string name_;
  const std::string group_;
  const int rank_;
  const std::int64_t bytes_;
  std::mutex mutex_;  ///< guards what follows
  bool is_sealed_ = false;
  int works_ = 0;  ///< host works per run
  int done_ = 0;   ///< in this run
  TraceClock::time_point begin_ = {};
};

int enqueue_collective(Collective kind, const OpaqueCall& call) {
  CommunicatorEngine& engine = *call.communicator;
  CollectiveCall own = describe_collective(kind, call, engine.rank());
  own.input = call.inputs[0].data;
  own.output = call.outputs[0].data;
  own.stream = call.stream;
  const auto traced = std::make_shared<TracedCollective>(call, engine.rank());
  own.on_host = [&](std::function<void()> work) {
    traced->add_work();
    call.on_host([traced, work = std::move(work)] { traced->run(work); });
  };
  engine.enqueue(own);
  traced->seal();
  return 0;
}

/// A plan has no communicator; a Context has.
void check_collective(Collective kind, const OpaqueSizes& sizes) {
  check_description(kind, sizes);
  if (const CommunicatorEngine* const engine = sizes.communicator)
    engine->check(describe_collective(kind, sizes, engine->rank()));
}

void register_collective(std::string_view name, Collective kind) {
  register_library_function(
      name,
      {.enqueue = [kind](const OpaqueCall& call) { return enqueue_collective(kind, call); },
       .check = [kind](const OpaqueSizes& sizes) { check_collective(kind, sizes); }});
}

}  // namespace

void register_collective_functions() {
  static std::once_flag registered;
  std::call_once(registered, [] {
    register_collective("all_reduce", Collective::all_reduce);
    register_collective("all_gather", Collective::all_gather);
    register_collective("reduce_scatter", Collective::reduce_scatter);
    register_collective("broadcast", Collective::broadcast);
    register_collective("reduce_to", Collective::reduce_to);
    register_collective("all_to_all", Collective::all_to_all);
    register_collective("send_receive", Collective::send_receive);
  });
}

}  // namespace sinter
