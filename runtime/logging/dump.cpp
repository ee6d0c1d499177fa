#include "runtime/logging/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sinter/error.h"

namespace sinter {

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 12> kStages = {
    "all",      "graph",         "lower",  "fold", "simplify", "fuse",
    "schedule", "fuse_launches", "source", "ptx",  "cubin",    "launch"};

/// One more than the highest number that starts a file name in the folder.
int next_number(const fs::path& directory, std::error_code& error) {
  int highest = 0;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error))
    highest = std::max(highest, std::atoi(entry->path().filename().c_str()));
  return highest + 1;
}

}  // namespace

Dump::Dump(const Options& options) : stages_(options.dump), directory_(options.dump_directory) {
  for (const std::string& stage : stages_)
    if (std::ranges::find(kStages, stage) == kStages.end())
      throw UserError(fmt::format("dump: there is no stage {}; the stages are {}", stage,
                                  fmt::join(kStages, ", ")));
}

std::string_view extension_of(std::string_view text) {
  return text.starts_with("graph ") ? "sinter" : "txt";
}

bool Dump::wants(std::string_view stage) const {
  return std::ranges::find(stages_, stage) != stages_.end() ||
         std::ranges::find(stages_, "all") != stages_.end();
}

void Dump::write(std::string_view stage, std::string_view extension, std::string_view text) {
  if (!wants(stage)) return;
  const std::lock_guard lock(mutex_);
  std::error_code error;
  fs::create_directories(directory_, error);
  int number = next_;
  if (number == 0 && !error) number = next_number(directory_, error);
  const fs::path path = fs::path(directory_) / fmt::format("{:04}_{}.{}", number, stage, extension);
  std::ofstream file;
  if (!error) file.open(path, std::ios::binary);  // else the number may be that of another file
  file << text;
  if (error || !file.flush())
    throw UserError(fmt::format(
        "dump: {} cannot be written; set dump_directory to a writable folder", path.string()));
  next_ = number + 1;
}

}  // namespace sinter
