// How far long work has come, on a line of the terminal that goes away when the work is done.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace sinter::command {

/// Shows nothing where standard error is no terminal, or where nobody wants to see it. Without
/// colours. Of one thread.
class Progress {
 public:
  /// `total` steps of `what`; 0: nobody knows how many.
  Progress(std::string what, std::size_t total, bool is_quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One more is done: `name`.
  void step(std::string_view name);
  /// Makes room for what is printed next.
  void hide();

 private:
  void show(std::string_view name);

  std::string what_;
  std::size_t total_;
  bool is_shown_;
  std::size_t done_ = 0;
  std::size_t width_ = 0;  ///< of what is on the line
  std::chrono::steady_clock::time_point last_;
};

}  // namespace sinter::command
