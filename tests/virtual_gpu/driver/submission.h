// Submission: work of the host becomes tasks, in the order of its streams.
#pragma once

#include <span>

#include "tests/virtual_gpu/driver/machine.h"

namespace sinter::virtual_gpu::driver {

struct ExecObject;

struct StreamOptions {
  bool is_legacy = false;
  bool is_blocking = true;
};

/// A stream of the context, without a handle.
std::shared_ptr<StreamObject> make_stream(Machine& machine, ContextObject& context,
                                          StreamOptions options);

/// Enqueues an operation behind the stream's work. Also behind the legacy stream, or, on the legacy
/// stream, behind all blocking ones. `extra`: other tasks that it waits for.
TaskPointer enqueue(Machine& machine, StreamObject& stream,
                    std::shared_ptr<const Operation> operation,
                    std::span<const TaskPointer> extra = {});

/// Enqueues a launch of the executable graph. Launches of one executable graph run one after the
/// other.
TaskPointer enqueue_graph(Machine& machine, StreamObject& stream, ExecObject& exec);

/// Work that the host may wait for.
struct PendingWork {
  std::vector<TaskPointer> tasks = {};   ///< that are not done
  std::vector<OrderRecord> places = {};  ///< whose end the host sees by waiting
};

/// The work of the stream; of the legacy stream also that of all blocking streams.
PendingWork pending_work(const StreamObject& stream);
PendingWork pending_work(const ContextObject& context);
/// The work before a marker; none if it is null.
PendingWork pending_work(const TaskPointer& marker);

/// Waits for the tasks. Throws Refusal if the context has failed.
void wait_for(Call& call, const PendingWork& work, const ContextObject& context);
/// The same. Later calls are ordered behind the work.
void synchronize(Call& call, const PendingWork& work, const ContextObject& context);
/// Success if the work is done, which orders later calls behind it; else CUDA_ERROR_NOT_READY. With
/// Configuration::runs_on_demand the second query of unfinished work waits for it.
CUresult query(Call& call, const PendingWork& work, const ContextObject& context);

/// Forgets destroyed streams without unfinished work.
void drop_destroyed_streams(ContextObject& context);

}  // namespace sinter::virtual_gpu::driver
