#include "tools/sinter/files/text_file.h"

#include "sinter/error.h"
#include "tools/sinter/arguments/arguments.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <llvm/ADT/ScopeExit.h>
#include <unistd.h>

namespace sinter::command {
namespace {

[[noreturn]] void throw_unwritable(const std::string& path) {
  throw UserError(fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
}

}  // namespace

void require_writable(const std::string& path) {
  const bool is_new = access(path.c_str(), F_OK) != 0;
  std::error_code ignored;
  if (!is_new && std::filesystem::is_directory(path, ignored)) {
    errno = EISDIR;
    throw_unwritable(path);
  }
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const std::string asked = !is_new ? path : folder.empty() ? "." : folder;
  if (access(asked.c_str(), W_OK) != 0) throw_unwritable(path);
  if (is_new && !std::filesystem::is_directory(asked, ignored)) {
    errno = ENOTDIR;
    throw_unwritable(path);
  }
}

std::string read_text_file(const std::string& path, const std::string& name) {
  std::FILE* const stream = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  const auto close = llvm::make_scope_exit([&] {
    if (stream && stream != stdin) std::fclose(stream);
  });
  std::string text;
  char part[1 << 16];
  while (const std::size_t bytes = stream ? std::fread(part, 1, sizeof part, stream) : 0)
    text.append(part, bytes);
  if (!stream || std::ferror(stream))
    throw UsageError(fmt::format("{} cannot be read: {}", name, std::strerror(errno)));
  return text;
}

void write_text_file(const std::string& path, std::string_view text) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"),
                                                             &std::fclose);
  const bool is_written = file &&
                          std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                          std::fflush(file.get()) == 0;
  if (!is_written) throw_unwritable(path);
}

}  // namespace sinter::command
