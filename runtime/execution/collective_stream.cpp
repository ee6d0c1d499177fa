#include "runtime/execution/collective_stream.h"

#include "sinter/error.h"

namespace sinter {

namespace {

constexpr std::string_view kPurpose = "the stream of collectives";

bool is_collective(const PreparedLaunch& launch) {
  return launch.call && launch.call->binding().is_collective();
}

}  // namespace

CollectiveStream::~CollectiveStream() {
  if (!handle_) return;
  const CurrentContextNoThrow current(device_);
  const Driver& driver = device_.driver;
  for (const CUevent event : ends_)
    if (event) log_failed_release(driver, driver.cuEventDestroy(event), "cuEventDestroy");
  if (start_) log_failed_release(driver, driver.cuEventDestroy(start_), "cuEventDestroy");
  log_failed_release(driver, driver.cuStreamDestroy(handle_), "cuStreamDestroy");
}

CUevent CollectiveStream::new_event() {
  CUevent event = nullptr;
  check(device_.driver, device_.driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING),
        "cuEventCreate", kPurpose);
  return event;
}

void CollectiveStream::find_dependencies() {
  needs_.assign(launches_.launches().size(), {});
  for (const LaunchEdge& edge : LaunchOrder(launches_.variant())
                                    .edges(launches_.layout(), launches_.symbols()))
    if (is_collective(launches_.launches()[static_cast<std::size_t>(edge.before)]))
      needs_[static_cast<std::size_t>(edge.after)].push_back(static_cast<std::size_t>(edge.before));
  may_differ_ = false;
}

void CollectiveStream::begin_run() {
  is_used_ = false;
  if (!handle_)
    check(device_.driver, device_.driver.cuStreamCreate(&handle_, CU_STREAM_NON_BLOCKING),
          "cuStreamCreate", kPurpose);
  if (!start_) start_ = new_event();
  if (may_differ_) find_dependencies();
  ends_.resize(needs_.size());
  for (std::size_t i = 0; i < ends_.size(); ++i)
    if (!ends_[i] && is_collective(launches_.launches()[i])) ends_[i] = new_event();
}

void CollectiveStream::record(CUevent event, CUstream stream) {
  check(device_.driver, device_.driver.cuEventRecord(event, stream), "cuEventRecord", kPurpose);
}

void CollectiveStream::wait(CUstream stream, CUevent event) {
  check(device_.driver, device_.driver.cuStreamWaitEvent(stream, event, /*flags=*/0),
        "cuStreamWaitEvent", kPurpose);
}

void CollectiveStream::wait_before(std::size_t number, CUstream stream) {
  for (const std::size_t collective : needs_[number]) wait(stream, ends_[collective]);
}

CUstream CollectiveStream::enter(CUstream stream) {
  record(start_, stream);
  wait(handle_, start_);
  is_used_ = true;
  return handle_;
}

void CollectiveStream::mark_end(std::size_t number) {
  record(ends_[number], handle_);
}

void CollectiveStream::end_run(CUstream stream) {
  if (!is_used_) return;
  record(start_, handle_);
  wait(stream, start_);
}

void CollectiveStream::end_failed_run(CUstream stream) noexcept {
  if (!is_used_) return;
  const Driver& driver = device_.driver;
  log_failed_release(driver, driver.cuEventRecord(start_, handle_), "cuEventRecord");
  log_failed_release(driver, driver.cuStreamWaitEvent(stream, start_, 0), "cuStreamWaitEvent");
}

}  // namespace sinter
