// The SINTER_DEBUG ladder: lines about what is done, on stderr or to Options::log.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "sinter/options.h"

namespace sinter {

/// From which Options::debug on a line is told.
enum class LogLevel : std::uint8_t {
  logged,     ///< always to Options::log; on stderr from 1 on
  plans,      ///< what is planned, compiled, and why
  schedules,  ///< of every kernel, and how it was tuned
  passes,     ///< and what the caches had
  launches,
};

inline bool is_logged(const Options& options, LogLevel rung) {
  if (rung == LogLevel::logged && options.log) return true;
  const int least = rung == LogLevel::logged ? 1 : static_cast<int>(rung);
  return options.debug >= least;
}

void write_log_line(const Options& options, const std::string& line);

/// `line` makes the line, if it is told at all.
void log_line(const Options& options, LogLevel rung, std::invocable auto line) {
  if (is_logged(options, rung)) [[unlikely]]
    write_log_line(options, line());
}

/// Throws UserError where `options.debug` is no rung.
void check_debug(const Options& options);

}  // namespace sinter
