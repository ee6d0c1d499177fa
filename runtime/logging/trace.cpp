#include "runtime/logging/trace.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "runtime/logging/nvtx.h"
#include "runtime/support/json_tree.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr std::size_t kMaxPending = 256 << 10;  // bytes of text
constexpr std::chrono::seconds kMaxPendingTime{1};
constexpr std::string_view kEnd = "\n]\n";
constexpr int kHostLane = 1;  // the trace "process" of all host threads; devices follow

/// Microseconds with nanosecond digits. Coarser rounding would break the nesting of spans.
std::string microseconds(std::chrono::nanoseconds time) {
  const std::int64_t count = std::max<std::int64_t>(time.count(), 0);
  return fmt::format("{}.{:03}", count / 1000, count % 1000);
}

/// The start of trace time: the first use, so that viewers begin at 0.
TraceClock::time_point epoch() {
  static const TraceClock::time_point start = TraceClock::now();
  return start;
}

class TraceWriter {
 public:
  void begin(const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (file_ && path_ == path) return;
    // A forked process must not touch its parent's file. A file that failed is not tried again.
    if (process_ != 0 && (process_ != getpid() || failed_ == path)) return;
    close();
    std::FILE* const file = std::fopen(path.c_str(), "wb");
    if (!file)
      throw UserError(fmt::format("trace: {} cannot be written ({}); name a writable file", path,
                                  std::strerror(errno)));
    file_ = file;
    path_ = path;
    process_ = getpid();
    lanes_.clear();
    is_first_ = true;
    name_lane(kHostLane, "host");
    write();
  }

  void flush() {
    const std::lock_guard lock(mutex_);
    write();
  }

  void end() {
    const std::lock_guard lock(mutex_);
    close();
  }

  void add(const TraceDevice* device, std::string_view category, std::string_view name,
           TraceClock::time_point begin, std::chrono::nanoseconds duration,
           const TraceArguments& arguments) {
    const std::lock_guard lock(mutex_);
    if (!file_) return;
    const int lane = device ? lane_of(*device) : kHostLane;
    const int thread = device ? 0 : gettid();
    put(fmt::format(R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},)"
                    R"("args":{{{}}}}})",
                    category, json_quoted(name), lane, thread, microseconds(begin - epoch()),
                    microseconds(duration), arguments.json()));
    const TraceClock::time_point now = TraceClock::now();
    if (pending_.size() > kMaxPending || now - written_ > kMaxPendingTime) write();
  }

 private:
  void put(const std::string& event) {
    pending_ += is_first_ ? "[\n" : ",\n";
    pending_ += event;
    is_first_ = false;
  }

  void name_lane(int lane, std::string_view name) {
    put(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":{}}}}})",
                    lane, json_quoted(name)));
  }

  int lane_of(const TraceDevice& device) {
    const int next = kHostLane + 1 + static_cast<int>(lanes_.size());
    const auto [entry, is_new] =
        lanes_.emplace(std::pair(std::string(device.name), device.ordinal), next);
    if (is_new) name_lane(next, fmt::format("device {}: {}", device.ordinal, device.name));
    return entry->second;
  }

  /// Each write appends the closing bracket. The next write overwrites it, so that the file is
  /// always valid JSON.
  void write() {
    if (!file_ || pending_.empty()) return;
    if (getpid() != process_) return forget();  // a forked child: the file is its parent's
    written_ = TraceClock::now();
    const bool is_written =
        std::fwrite(pending_.data(), 1, pending_.size(), file_) == pending_.size() &&
        std::fwrite(kEnd.data(), 1, kEnd.size(), file_) == kEnd.size() && std::fflush(file_) == 0 &&
        std::fseek(file_, -static_cast<long>(kEnd.size()), SEEK_CUR) == 0;
    pending_.clear();
    if (is_written) return;
    std::fprintf(stderr, "sinter: trace: %s cannot be written (%s); the trace ends\n",
                 path_.c_str(), std::strerror(errno));
    failed_ = path_;
    forget();
  }

  void close() {
    write();
    forget();
  }

  void forget() {
    if (file_ && getpid() == process_) std::fclose(file_);
    file_ = nullptr;
    pending_.clear();
  }

  std::mutex mutex_;
  std::FILE* file_ = nullptr;
  std::string path_;
  std::string pending_;
  bool is_first_ = true;
  pid_t process_ = 0;
  std::string failed_;  ///< the file whose writing failed
  TraceClock::time_point written_;
  std::map<std::pair<std::string, int>, int> lanes_;
};

/// Never destroyed: threads may still trace while the process ends.
TraceWriter& writer() {
  static auto* const the_writer = new TraceWriter;
  return *the_writer;
}

}  // namespace

std::string& TraceArguments::key(std::string_view name) {
  if (!json_.empty()) json_ += ',';
  return json_ += fmt::format("\"{}\":", name);
}

TraceArguments& TraceArguments::add(std::string_view name, std::int64_t value) {
  key(name) += fmt::format("{}", value);
  return *this;
}

TraceArguments& TraceArguments::add(std::string_view name, double value) {
  key(name) += nlohmann::json(value).dump();
  return *this;
}

TraceArguments& TraceArguments::add(std::string_view name, std::string_view value) {
  key(name) += json_quoted(value);
  return *this;
}

void Trace::begin(const std::string& path) {
  static const int at_exit = std::atexit([] { writer().flush(); });
  (void)at_exit;
  epoch();
  writer().begin(path);
  listeners_ |= kFile;
}

void Trace::find_tool() {
  if (Nvtx::has_tool()) listeners_ |= kTool;
}

void Trace::flush() { writer().flush(); }

void Trace::end() {
  listeners_ &= ~unsigned{kFile};
  writer().end();
}

void Trace::add_host(std::string_view category, std::string_view name, TraceClock::time_point begin,
                     std::chrono::nanoseconds duration, const TraceArguments& arguments) {
  if (has(kFile)) writer().add(nullptr, category, name, begin, duration, arguments);
}

void Trace::add_device(const TraceDevice& device, std::string_view name,
                       TraceClock::time_point begin, std::chrono::nanoseconds duration,
                       const TraceArguments& arguments) {
  if (has(kFile)) writer().add(&device, "kernel", name, begin, duration, arguments);
}

struct TraceSpan::Open {
  std::string_view category;
  std::string name;
  TraceArguments arguments;
  bool is_pushed = false;  ///< an NVTX range was begun
  int exceptions = std::uncaught_exceptions();
  TraceClock::time_point begin = TraceClock::now();
};

void TraceSpan::open(std::string_view category, std::string name) {
  open_ = new Open{.category = category, .name = std::move(name)};
  if (!Trace::has(Trace::kTool)) return;
  Nvtx::push(category, open_->name);
  open_->is_pushed = true;
}

void TraceSpan::close() noexcept {
  const std::unique_ptr<Open> span(open_);
  if (span->is_pushed) Nvtx::pop();
  const bool has_failed = std::uncaught_exceptions() > span->exceptions;
  try {
    if (has_failed) span->arguments.add("failed", std::string_view("yes"));
    Trace::add_host(span->category, span->name, span->begin, TraceClock::now() - span->begin,
                    span->arguments);
    if (has_failed) Trace::flush();
  } catch (...) {  // for example out of memory: a trace must not make the program fail
  }
}

TraceArguments* TraceSpan::arguments() const { return open_ ? &open_->arguments : nullptr; }

}  // namespace sinter
