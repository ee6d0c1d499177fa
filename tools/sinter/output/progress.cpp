#include "tools/sinter/output/progress.h"

#include "tools/sinter/output/streams.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

namespace sinter::command {

namespace {

constexpr std::size_t kMaxLineColumns = 79;
constexpr std::chrono::milliseconds kPause(100);  // least time between two updates of the line

}  // namespace

Progress::Progress(std::string what, std::size_t total, bool is_quiet)
    : what_(std::move(what)), total_(total), is_shown_(!is_quiet && isatty(STDERR_FILENO) == 1) {
  show("");
}

Progress::~Progress() { hide(); }

void Progress::step(std::string_view name) {
  ++done_;
  const bool is_recent = std::chrono::steady_clock::now() - last_ < kPause;
  if (!is_recent || width_ == 0) show(name);
}

void Progress::hide() {
  if (width_ == 0) return;
  log_line(fmt::format("\r{:{}}\r", "", width_));
  width_ = 0;
}

void Progress::show(std::string_view name) {
  if (!is_shown_) return;
  std::string line = what_;
  if (total_ > 0) line += fmt::format(": {} of {}", done_, total_);
  if (!name.empty()) line += fmt::format(", {}", name);
  line.resize(std::min(line.size(), kMaxLineColumns));
  hide();
  log_line(line);
  width_ = line.size();
  last_ = std::chrono::steady_clock::now();
}

}  // namespace sinter::command
