#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <chrono>

#include <fmt/format.h>

#include "tests/virtual_gpu/mutation/tool/run_case.h"

using namespace sinter::virtual_gpu::mutation;

// run [--shard I/N] [CASE...]
int main(int argc, char** argv) {
  std::vector<std::string> names;
  int shard = 0, shards = 1;
  for (int i = 2; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--shard") { std::sscanf(argv[++i], "%d/%d", &shard, &shards); continue; }
    names.push_back(argv[i]);
  }
  const char* file = std::getenv("VIRTUAL_GPU_EXAMINE");
  if (!file) { fmt::print(stderr, "set VIRTUAL_GPU_EXAMINE\n"); return 2; }
  std::vector<Case> cases;
  if (names.empty()) cases = all_cases(); else for (auto& n : names) cases.push_back(find_case(n));
  if (std::string_view(argv[1]) == "list") { for (auto& c : cases) fmt::print("{}\n", c.name); return 0; }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (static_cast<int>(i) % shards != shard) continue;
    const auto start = std::chrono::steady_clock::now();
    try {
      const auto rows = run_case(cases[i], file);
      const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      fmt::print("# {} : {} mutations, {:.2f} s\n", cases[i].name, rows.size(), s);
      for (auto& r : rows) fmt::print("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", cases[i].name, r.kernel, r.number, r.kind, r.line, r.outcome, r.schedule, r.message.substr(0, 300));
    } catch (const std::exception& e) {
      fmt::print("# {} FAILED: {}\n", cases[i].name, e.what());
    }
    std::fflush(stdout);
  }
}
