// The log of SINTER_DEBUG and Options::debug: lines on stderr or to Options::log.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "sinter/options.h"

namespace sinter {

/// The lowest Options::debug at which a line is logged.
enum class LogLevel : std::uint8_t {
  notes,      ///< always to Options::log; on stderr from 1 on
  plans,      ///< plans and compilations, with their reasons
  schedules,  ///< the schedule of every kernel, and its tuning
  passes,     ///< compiler passes and cache lookups
  launches,
};

inline bool is_logged(const Options& options, LogLevel level) {
  if (level == LogLevel::notes && options.log) return true;
  const int least = level == LogLevel::notes ? 1 : static_cast<int>(level);
  return options.debug >= least;
}

void write_log_line(const Options& options, const std::string& line);

/// Logs the result of `line`, which is called only if the level is logged.
void log_line(const Options& options, LogLevel level, std::invocable auto line) {
  if (is_logged(options, level)) [[unlikely]]
    write_log_line(options, line());
}

/// Throws UserError if `options.debug` is not from 0 to 4.
void check_debug(const Options& options);

}  // namespace sinter
