// Reads the project's own files for the tests in tests/repo.
#pragma once

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/files/read_text.h"

namespace sinter::repo {

/// One file of the project: its path from the root, with '/', and its lines.
struct SourceFile {
  std::string path;
  std::vector<std::string> lines;
};

/// "path:line: what", the format in which all checks report an offence.
inline std::string offence(const SourceFile& file, std::size_t line_index, std::string_view what) {
  return file.path + ":" + std::to_string(line_index + 1) + ": " + std::string(what) + "\n";
}

inline std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

inline std::filesystem::path source_root() { return SINTER_SOURCE_DIR; }

inline bool is_text(const std::filesystem::path& path) {
  static const std::vector<std::string> endings = {".h",    ".cpp", ".cuh",  ".def",    ".cmake",
                                                   ".md",   ".txt", ".sh",   ".map",    ".in",
                                                   ".json", ".py",  ".html", ".sinter", ".toml"};
  const std::string extension = path.extension().string();
  return extension.empty() || std::find(endings.begin(), endings.end(), extension) != endings.end();
}

/// Every text file of the project, sorted by path. Leaves out build outputs, folders named `data`,
/// and hidden folders except .ci.
inline std::vector<SourceFile> read_source_tree() {
  namespace fs = std::filesystem;
  std::vector<SourceFile> files;
  fs::recursive_directory_iterator walk(source_root());
  for (auto it = fs::begin(walk); it != fs::end(walk); ++it) {
    const std::string name = it->path().filename().string();
    if (it->is_directory()) {
      const bool hidden = name.starts_with('.') && name != ".ci";
      const bool output = it.depth() == 0 && name.starts_with("build");
      if (hidden || output || name == "data") it.disable_recursion_pending();
      continue;
    }
    // In a second working tree of a repository, .git is a file.
    if (!it->is_regular_file() || !is_text(it->path()) || name == ".git") continue;
    files.push_back({fs::relative(it->path(), source_root()).generic_string(),
                     split_lines(test::read_text(it->path()))});
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace sinter::repo
