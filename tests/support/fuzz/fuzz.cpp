#include "tests/support/fuzz/fuzz.h"

#include "sinter/sinter.h"
#include "tests/support/fuzz/minimise.h"
#include "tests/support/run/compile_together.h"
#include "tests/support/run/run.h"

#include <cstdlib>
#include <exception>
#include <fstream>
#include <vector>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace sinter::test {

namespace {

std::string target_of(std::uint64_t seed) { return seed % 2 == 1 ? "cpu" : ""; }

Options fuzz_options(std::uint64_t seed, bool fuse) {
  return {.tune = Tune::off,
          .fuse = fuse,
          .target = target_of(seed),
          .count = true,
          .optimize_host = false};
}

std::vector<Size> named_sizes(const RandomGraph& random) {
  std::vector<Size> sizes;
  for (std::size_t i = 0; i < random.symbols.size(); ++i)
    sizes.push_back({random.symbols[i], random.sizes[i]});
  return sizes;
}

std::filesystem::path output_folder() {
  const char* const chosen = std::getenv("SINTER_FUZZ_OUT");
  return chosen && *chosen ? chosen : SINTER_FUZZ_OUT;
}

std::string commented(const std::string& text) {
  std::string result;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    result += "// " + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return result;
}

}  // namespace

void compile_together(std::span<const FuzzCase> cases) {
  std::vector<RunForm> forms;
  for (const FuzzCase& one : cases)
    for (const bool fuse : {true, false})
      forms.push_back({.graph = &one.random.graph,
                       .symbols = one.random.sizes,
                       .options = fuzz_options(one.seed, fuse)});
  compile_together(forms);
}

FuzzFailure run_fuzz_case(const RandomGraph& random, std::uint64_t seed) {
  testing::TestPartResultArray failures;
  try {
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
    run_and_check(random.graph, named_sizes(random),
                  {.seed = seed,
                   .candidates = false,
                   .replay = false,
                   .options = {.target = target_of(seed), .optimize_host = false}});
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return {.check = "exception " + text.substr(0, text.find(':')), .text = text};
  }
  if (failures.size() == 0) return {};
  const std::string text = failures.GetTestPartResult(0).message();
  return {.check = text.substr(0, text.find(':')), .text = text};
}

std::filesystem::path write_minimised(const FuzzCase& failing, const FuzzFailure& failure,
                                      const std::string& name) {
  FuzzFailure last = failure;
  const RandomGraph small = minimise(failing.random, [&](const RandomGraph& smaller) {
    FuzzFailure found = run_fuzz_case(smaller, failing.seed);
    if (found.check != failure.check) return false;
    last = std::move(found);
    return true;
  });
  const std::filesystem::path folder = output_folder();
  std::filesystem::create_directories(folder);
  std::filesystem::path path = folder / (name + ".sinter");
  const std::string reason = last.text.substr(0, last.text.find("\n\n"));
  std::ofstream(path) << commented(reason) << "// inputs of seed " << failing.seed << "\n"
                      << file_text(small);
  return path;
}

}  // namespace sinter::test
