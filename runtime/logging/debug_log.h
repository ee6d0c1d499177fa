// The SINTER_DEBUG ladder: lines about what is done, on stderr or to Options::log.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "sinter/options.h"

namespace sinter {

/// From which Options::debug on a line is told.
enum class Rung : std::uint8_t {
  logged,     ///< always to Options::log; on stderr from 1 on
  plans,      ///< what is planned, compiled, and why
  schedules,  ///< of every kernel, and how it was tuned
  passes,     ///< and what the caches had
  launches,
};

inline bool is_told(const Options& options, Rung rung) {
  if (rung == Rung::logged && options.log) return true;
  const int least = rung == Rung::logged ? 1 : static_cast<int>(rung);
  return options.debug >= least;
}

void tell_line(const Options& options, const std::string& line);

/// `line` makes the line, if it is told at all.
void tell(const Options& options, Rung rung, std::invocable auto line) {
  if (is_told(options, rung)) [[unlikely]]
    tell_line(options, line());
}

/// Throws UserError where `options.debug` is no rung.
void check_debug(const Options& options);

}  // namespace sinter
