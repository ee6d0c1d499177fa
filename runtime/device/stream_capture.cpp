#include "runtime/device/stream_capture.h"

#include <fmt/format.h>

#include "sinter/error.h"

namespace sinter {

namespace {

/// The driver calls this when the last graph that refers to `kept` is destroyed. Driver calls are
/// not allowed here.
void release_kept(void* kept) { defer_release(static_cast<DeferredRelease*>(kept)); }

std::mutex& captured_graphs_mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

}  // namespace

CapturedGraph::CapturedGraph(std::string_view what, const StreamState& stream)
    : lock_(captured_graphs_mutex()), what_(what), stream_(stream) {
  const Driver& driver = stream.device.driver;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  check(driver,
        driver.cuStreamGetCaptureInfo(stream.handle, &status, /*id=*/nullptr, &graph_,
                                      &dependencies_, &dependency_count_),
        "cuStreamGetCaptureInfo", what);
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) throw_invalid_capture(what);
}

void CapturedGraph::keep(std::unique_ptr<DeferredRelease> kept) {
  const Driver& driver = stream_.device.driver;
  CUuserObject object = nullptr;
  check(driver,
        driver.cuUserObjectCreate(&object, kept.get(), &release_kept, /*references=*/1,
                                  CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
        "cuUserObjectCreate", what_);
  kept.release();
  const CUresult retained =
      driver.cuGraphRetainUserObject(graph_, object, /*count=*/1, CU_GRAPH_USER_OBJECT_MOVE);
  if (retained != CUDA_SUCCESS)
    log_failed_release(driver, driver.cuUserObjectRelease(object, /*count=*/1),
                       "cuUserObjectRelease");
  check(driver, retained, "cuGraphRetainUserObject", what_);
}

void CapturedGraph::append(CUgraph nodes) {
  const Driver& driver = stream_.device.driver;
  CUgraphNode node = nullptr;
  check(driver,
        driver.cuGraphAddChildGraphNode(&node, graph_, dependencies_, dependency_count_, nodes),
        "cuGraphAddChildGraphNode", what_);
  check(driver,
        driver.cuStreamUpdateCaptureDependencies(stream_.handle, &node, 1,
                                                 CU_STREAM_SET_CAPTURE_DEPENDENCIES),
        "cuStreamUpdateCaptureDependencies", what_);
}

void throw_invalid_capture(std::string_view what) {
  throw UserError(
      fmt::format("{}: the stream is being captured, and an earlier error has made the capture "
                  "invalid; end it (cuStreamEndCapture) and begin a new one",
                  what));
}

void check_can_wait(std::string_view what, const StreamState& stream) {
  const CurrentContext current(stream.device);
  if (is_captured(what, stream))
    throw UserError(
        fmt::format("{}: the stream is being captured, so its work does not run until the CUDA "
                    "Graph is launched; end the capture, launch the graph and wait for the launch, "
                    "or use another stream",
                    what));
}

}  // namespace sinter
