#include "tools/onnx/model/external_data.h"

#include "ir/text/lexer.h"
#include "sinter/error.h"

#include <charconv>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

namespace fs = std::filesystem;

struct ExternalRange {
  std::string_view location;
  std::int64_t offset = 0;
  std::int64_t length = -1;  ///< -1: to the end of the file
};

std::int64_t byte_count(const StringStringEntryProto& entry) {
  std::int64_t result = 0;
  const char* const end = entry.value.data() + entry.value.size();
  const auto [stop, error] = std::from_chars(entry.value.data(), end, result);
  if (error != std::errc{} || stop != end || result < 0)
    throw UserError(fmt::format("the {} of its external data is '{}'; it must be a number of bytes",
                                entry.key, printable(entry.value)));
  return result;
}

ExternalRange external_range(std::span<const StringStringEntryProto> entries) {
  ExternalRange range;
  for (const StringStringEntryProto& entry : entries) {
    if (entry.key == "location") range.location = entry.value;
    if (entry.key == "offset") range.offset = byte_count(entry);
    if (entry.key == "length") range.length = byte_count(entry);
  }
  if (range.location.empty()) throw UserError("its external data has no location");
  return range;
}

/// The path of `location`. Throws UserError if it leaves `folder`, also through a symbolic link.
fs::path path_in(const fs::path& folder, std::string_view location) {
  const std::string shown = printable(location);
  const auto refuse = [&] {
    return UserError(
        fmt::format("its external data is in '{}', which is outside the folder of the model; move "
                    "the file there",
                    shown));
  };
  if (location.find('\0') != location.npos)
    throw UserError(fmt::format("its external data is in '{}', which is no file name", shown));
  const fs::path relative{location};
  if (relative.is_absolute()) throw refuse();
  std::error_code error;
  const fs::path root = fs::weakly_canonical(folder.empty() ? fs::path(".") : folder, error);
  const fs::path path = fs::weakly_canonical(root / relative, error);
  if (error)
    throw UserError(fmt::format("its external data is in '{}', which cannot be read: {}", shown,
                                error.message()));
  const fs::path inside = path.lexically_relative(root);
  if (inside.empty() || *inside.begin() == "..") throw refuse();
  return path;
}

}  // namespace

std::string read_external_data(std::span<const StringStringEntryProto> entries,
                               const std::filesystem::path& folder, std::int64_t bytes) {
  const ExternalRange range = external_range(entries);
  const fs::path path = path_in(folder, range.location);
  if (range.length >= 0 && range.length != bytes)
    throw UserError(fmt::format("its external data has {} bytes, but its shape and type need {}",
                                range.length, bytes));
  std::error_code error;
  const std::uintmax_t size = fs::is_regular_file(path, error) ? fs::file_size(path, error) : 0;
  std::ifstream stream(path, std::ios::binary);
  if (error || !fs::is_regular_file(path, error) || !stream)
    throw UserError(fmt::format("its external data is in '{}', which is no file that can be read",
                                printable(range.location)));
  const auto offset = static_cast<std::uintmax_t>(range.offset);
  if (offset > size || static_cast<std::uintmax_t>(bytes) > size - offset)
    throw UserError(fmt::format("its external data is bytes {} to {} of '{}', which has {}", offset,
                                offset + static_cast<std::uintmax_t>(bytes),
                                printable(range.location), size));
  std::string data(static_cast<std::size_t>(bytes), '\0');
  stream.seekg(range.offset);
  stream.read(data.data(), bytes);
  if (stream.gcount() != bytes)
    throw UserError(
        fmt::format("its external data in '{}' cannot be read", printable(range.location)));
  return data;
}

}  // namespace sinter::onnx
