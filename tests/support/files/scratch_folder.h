// A temporary folder for one test, removed in the destructor.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace sinter::test {

class ScratchFolder {
 public:
  ScratchFolder()
      : path_((std::filesystem::temp_directory_path() / "sinter-test-XXXXXX").string()) {
    if (!mkdtemp(path_.data())) std::abort();
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace sinter::test
