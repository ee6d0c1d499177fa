// Dump files: the output of each pipeline stage, numbered in order.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/options.h"

namespace sinter {

/// The extension for the output of a pass: `sinter` if it can be parsed again, else `txt`.
std::string_view extension_of(std::string_view text);

/// Writes `0007_simplify.sinter` and the like into Options::dump_directory.
class Dump {
 public:
  /// Throws UserError if a stage is unknown.
  explicit Dump(const Options& options);

  bool wants(std::string_view stage) const;
  /// Writes `text` if the stage is wanted. Numbers continue after existing files. Throws UserError
  /// if the folder cannot be written.
  void write(std::string_view stage, std::string_view extension, std::string_view text);

 private:
  std::vector<std::string> stages_;
  std::string directory_;
  std::mutex mutex_;
  int next_ = 0;  ///< 0: nothing was written yet
};

}  // namespace sinter
