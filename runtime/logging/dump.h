// Dump files: what comes out of each stage, written in the order of the pipeline.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/options.h"

namespace sinter {

/// How files end that hold what a pass leaves: `sinter` where it can be read again, else `txt`.
std::string_view extension_of(std::string_view text);

/// Writes `0007_simplify.sinter` and the like into Options::dump_directory.
class Dump {
 public:
  /// Throws UserError on a stage that there is none of.
  explicit Dump(const Options& options);

  bool wants(std::string_view stage) const;
  /// Writes `text` if the stage is wanted; numbers go on from the files that are there. Throws
  /// UserError where the folder cannot be written.
  void write(std::string_view stage, std::string_view extension, std::string_view text);

 private:
  std::vector<std::string> stages_;
  std::string directory_;
  std::mutex mutex_;
  int next_ = 0;  ///< 0: nothing was written yet
};

}  // namespace sinter
