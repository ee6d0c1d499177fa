// What a project that installed sinter writes first.
#include <sinter/error.h>

#include <cstdio>
#include <string_view>

int main() {
  try {
    sinter::ensure(1 + 1 == 3, "one and one are not three");
  } catch (const sinter::InternalError& error) {
    std::puts(error.what());
    return std::string_view(error.what()).find("not three") == std::string_view::npos;
  }
  return 1;
}
