// Checks the rooms (sub-folders) of each layer against tests/repo/rooms.txt. Every file is in a
// listed room, includes go to the same room or a lower one, and rooms stay small.
#include "tests/repo/source_tree.h"

#include <map>
#include <optional>
#include <regex>
#include <set>

#include <gtest/gtest.h>

namespace sinter::repo::rooms_test {
namespace {

/// A header and the .cpp of the same name count as one source.
constexpr std::size_t kMostSources = 20;

/// The index of each room in the list, by its path from the root. Lower rooms come first.
using Rooms = std::map<std::string, int>;

Rooms parse_rooms(const std::vector<std::string>& lines) {
  Rooms rooms;
  std::string layer;
  for (const std::string& line : lines) {
    const std::string text = line.substr(0, line.find('#'));
    std::istringstream words(text);
    std::string word;
    if (!(words >> word)) continue;
    if (text[0] != ' ') {
      layer = word;
      continue;
    }
    const std::string path = word == "." ? layer : layer + "/" + word;
    rooms.emplace(path, static_cast<int>(rooms.size()));
  }
  return rooms;
}

Rooms listed_rooms() {
  return parse_rooms(split_lines(test::read_text(source_root() / "tests/repo/rooms.txt")));
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }
/// The first folder; below tools, the first two.
std::string layer_of(const std::string& path) {
  const std::size_t after = path.starts_with("tools/") ? std::string_view("tools/").size() : 0;
  return path.substr(0, path.find('/', after));
}

bool is_source(const std::string& path) {
  return path.ends_with(".h") || path.ends_with(".cpp") || path.ends_with(".def");
}

/// True for the sources of a layer, except public headers and the prelude, which are in no room.
bool is_in_a_room(const std::string& path) {
  static const std::regex layer("(ir|compiler|codegen|runtime|tools/onnx)/.*");
  return std::regex_match(path, layer) && is_source(path) &&
         path.find("/include/sinter/") == std::string::npos && !path.starts_with("codegen/device/");
}

std::optional<std::string> included(const std::string& line) {
  static const std::regex form(R"re(^\s*#\s*include\s*"([^"]+)")re");
  std::smatch match;
  if (!std::regex_search(line, match, form)) return std::nullopt;
  return match[1].str();
}

std::string upward_includes(const std::vector<SourceFile>& files, const Rooms& rooms) {
  std::string offences;
  for (const SourceFile& file : files) {
    if (!is_in_a_room(file.path)) continue;
    const std::string folder = folder_of(file.path);
    const auto own = rooms.find(folder);
    if (own == rooms.end()) {
      offences += offence(file, 0, folder + " is no room of tests/repo/rooms.txt");
      continue;
    }
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::optional<std::string> header = included(file.lines[i]);
      if (!header || layer_of(*header) != layer_of(file.path) || !is_in_a_room(*header)) continue;
      const auto other = rooms.find(folder_of(*header));
      if (other != rooms.end() && other->second > own->second)
        offences += offence(
            file, i, "includes " + *header + ", upward from " + folder + " to " + other->first);
    }
  }
  return offences;
}

/// Files that include one another in a cycle, reported at the include that closes it.
std::string include_cycles(const std::vector<SourceFile>& files) {
  std::map<std::string, const SourceFile*> by_path;
  for (const SourceFile& file : files)
    if (is_in_a_room(file.path)) by_path.emplace(file.path, &file);
  std::set<std::string> done, open;
  std::string offences;
  const auto visit = [&](const auto& self, const SourceFile& file) -> void {
    if (!done.insert(file.path).second) return;
    open.insert(file.path);
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::optional<std::string> header = included(file.lines[i]);
      const auto next = header ? by_path.find(*header) : by_path.end();
      if (next == by_path.end()) continue;
      if (open.contains(*header))
        offences += offence(file, i, "includes " + *header + ", which includes this file");
      else
        self(self, *next->second);
    }
    open.erase(file.path);
  };
  for (const auto& [path, file] : by_path) visit(visit, *file);
  return offences;
}

std::string crowded_folders(const std::vector<SourceFile>& files) {
  static const std::regex product(
      "(ir|compiler|codegen|runtime|python|tools|bench|examples|tests/(unit|host|support|nvrtc|gpu|"
      "repo|fuzz|memory|onnx|python))/.*");
  std::map<std::string, std::set<std::string>> sources;
  for (const SourceFile& file : files)
    if (std::regex_match(file.path, product) && !file.path.ends_with("__init__.py") &&
        (is_source(file.path) || file.path.ends_with(".cuh") || file.path.ends_with(".py")))
      sources[folder_of(file.path)].insert(file.path.substr(0, file.path.rfind('.')));
  std::string offences;
  for (const auto& [folder, names] : sources)
    if (names.size() > kMostSources)
      offences += folder + ": " + std::to_string(names.size()) + " sources, at most " +
                  std::to_string(kMostSources) + " are allowed in one folder\n";
  return offences;
}

TEST(RoomsTest, EveryRoomIsListedAndIncludesLowerRoomsOnly) {
  EXPECT_EQ(upward_includes(read_source_tree(), listed_rooms()), "");
}

TEST(RoomsTest, EveryListedRoomExists) {
  for (const auto& [room, height] : listed_rooms())
    EXPECT_TRUE(std::filesystem::is_directory(source_root() / room)) << room;
}

TEST(RoomsTest, FilesDoNotIncludeOneAnotherInACircle) {
  EXPECT_EQ(include_cycles(read_source_tree()), "");
}

TEST(RoomsTest, NoFolderHoldsMoreThan20Sources) {
  EXPECT_EQ(crowded_folders(read_source_tree()), "");
}

TEST(RoomsTest, ReportsAnUpwardInclude) {
  const Rooms rooms = parse_rooms({"ir", "  shape  # extents", "  graph"});
  const SourceFile file{"ir/shape/a.h", {"#include \"ir/graph/node.h\""}};
  EXPECT_EQ(upward_includes({file}, rooms),
            "ir/shape/a.h:1: includes ir/graph/node.h, upward from ir/shape to ir/graph\n");
  const SourceFile other{"ir/graph/a.h", {"#include \"ir/shape/extent.h\""}};
  EXPECT_EQ(upward_includes({other}, rooms), "");
}

TEST(RoomsTest, ReportsAnUnlistedRoom) {
  EXPECT_EQ(upward_includes({{"ir/attic/a.h", {""}}}, {{"ir/shape", 0}}),
            "ir/attic/a.h:1: ir/attic is no room of tests/repo/rooms.txt\n");
}

TEST(RoomsTest, ReportsACycle) {
  const std::vector<SourceFile> files = {{"ir/shape/a.h", {"", "#include \"ir/shape/b.h\""}},
                                         {"ir/shape/b.h", {"#include \"ir/shape/a.h\""}}};
  EXPECT_EQ(include_cycles(files),
            "ir/shape/b.h:1: includes ir/shape/a.h, which includes this file\n");
}

TEST(RoomsTest, ReportsACrowdedFolder) {
  std::vector<SourceFile> files;
  for (int i = 0; i < 21; ++i) {
    files.push_back({"ir/shape/f" + std::to_string(i) + ".h", {}});
    files.push_back({"ir/shape/f" + std::to_string(i) + ".cpp", {}});
  }
  EXPECT_EQ(crowded_folders(files), "ir/shape: 21 sources, at most 20 are allowed in one folder\n");
  files.pop_back();
  files.pop_back();
  EXPECT_EQ(crowded_folders(files), "");
}

}  // namespace
}  // namespace sinter::repo::rooms_test
