// Runs the tests on every rank. Rank 0 prints them, and the other ranks print only failures.
//
//     sinter_mpi_tests [--init=multiple|single|none] [--abandon] [GoogleTest flags]
//
// With --abandon, the process ends without MPI_Finalize, which a test of failures makes impossible.
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

namespace sinter::test {
namespace {

class FailurePrinter : public testing::EmptyTestEventListener {
 public:
  explicit FailurePrinter(std::string process) : process_(std::move(process)) {}

 private:
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
    std::fprintf(stderr, "%s: %s.%s at %s:%d\n%s\n", process_.c_str(),
                 test ? test->test_suite_name() : "", test ? test->name() : "",
                 result.file_name() ? result.file_name() : "", result.line_number(),
                 result.message());
  }

  const std::string process_;
};

struct Arguments {
  std::string_view init = "multiple";
  bool abandons = false;
};

Arguments parse(int count, char** arguments) {
  Arguments parsed;
  for (int i = 1; i < count; ++i) {
    const std::string_view text = arguments[i];
    if (text.starts_with("--init=")) parsed.init = text.substr(7);
    if (text == "--abandon") parsed.abandons = true;
  }
  return parsed;
}

void initialize_mpi(std::string_view how) {
  int level = 0;
  if (how == "multiple") MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
  if (how == "single") MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &level);
}

/// The number of this process. mpirun tells it before MPI is initialised.
std::string own_number() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const char* const number = std::getenv(variable)) return number;
  return "0";
}

int run_tests(int count, char** arguments) {
  const Arguments parsed = parse(count, arguments);
  testing::InitGoogleTest(&count, arguments);
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  initialize_mpi(parsed.init);
  const std::string number = own_number();
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (number != "0") {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailurePrinter("rank " + number));
  }
  int status = RUN_ALL_TESTS();
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  const bool has_run = tests.successful_test_count() + tests.failed_test_count() > 0;
  if (!has_run) status = 1;
  std::printf("rank %s: %s\n", number.c_str(),
              status == 0 ? "passed"
              : has_run   ? "FAILED"
                          : "FAILED, since no test ran; see --gtest_filter");
  std::fflush(nullptr);
  if (parsed.abandons) {
    sleep(1);  // mpirun ends all ranks soon after the first one
    _exit(status);
  }
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  if (parsed.init != "none" && !is_finalized) MPI_Finalize();
  return status;
}

}  // namespace
}  // namespace sinter::test

int main(int count, char** arguments) { return sinter::test::run_tests(count, arguments); }
