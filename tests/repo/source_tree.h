// The project's own files as the tests of tests/repo read them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::repo {

/// One file of the project: its path from the root, with '/', and its lines.
struct SourceFile {
  std::string path;
  std::vector<std::string> lines;
};

/// "path:line: what", the form in which every check names what offends.
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
  static const std::vector<std::string> endings = {".h",    ".cpp", ".cuh",  ".def",   ".cmake",
                                                   ".md",   ".txt", ".sh",   ".map",   ".in",
                                                   ".json", ".py",  ".html", ".sinter"};
  const std::string extension = path.extension().string();
  return extension.empty() || std::find(endings.begin(), endings.end(), extension) != endings.end();
}

/// Every text file of the project, by path; build outputs, data and hidden folders but .ci left
/// out.
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
    // A second working tree of a repository has a file where others have the folder .git.
    if (!it->is_regular_file() || !is_text(it->path()) || name == ".git") continue;
    std::ifstream stream(it->path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    files.push_back({fs::relative(it->path(), source_root()).generic_string(), split_lines(text)});
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace sinter::repo
