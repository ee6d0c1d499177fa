#include "tools/sinter/text_file.h"

#include "sinter/error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>

namespace sinter::command {

void write_text_file(const std::string& path, std::string_view text) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"),
                                                             &std::fclose);
  const bool is_written = file &&
                          std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                          std::fflush(file.get()) == 0;
  if (!is_written)
    throw UserError(fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
}

}  // namespace sinter::command
