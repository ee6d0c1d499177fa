// A progress line on the terminal, removed when the work is done.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace sinter::command {

/// Shows nothing if standard error is not a terminal, or with `is_quiet`. Uses no colours. Only one
/// thread may use it.
class Progress {
 public:
  /// `total` steps of `what`; 0 if the number is not known.
  Progress(std::string what, std::size_t total, bool is_quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Counts a finished step called `name`.
  void step(std::string_view name);
  /// Clears the line, so that other text can be printed.
  void hide();

 private:
  void show(std::string_view name);

  std::string what_;
  std::size_t total_;
  bool is_shown_;
  std::size_t done_ = 0;
  std::size_t width_ = 0;  ///< of the text on the line
  std::chrono::steady_clock::time_point last_;
};

}  // namespace sinter::command
