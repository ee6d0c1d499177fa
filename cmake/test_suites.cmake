# Read by ctest when it starts: adds one test for each suite of a GoogleTest binary, run in one
# process. A failure shows the names of the failed tests. Expects BINARY, LABEL, SECONDS (the
# time that a suite may take), and FILTER, which selects suites.
if(NOT EXISTS "${BINARY}")
  add_test("${BINARY}_NOT_BUILT" "${BINARY}_NOT_BUILT")
  return()
endif()
execute_process(
  COMMAND "${BINARY}" --gtest_list_tests "--gtest_filter=${FILTER}"
  OUTPUT_VARIABLE listing
  RESULT_VARIABLE status
  TIMEOUT 60)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${BINARY} --gtest_list_tests failed (${status}):\n${listing}")
endif()
string(REGEX MATCHALL "\n[^ \n#]+\\." suites "\n${listing}")
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "^\n|\\.$" "" suite "${suite}")
  add_test("${suite}" "${BINARY}" "--gtest_filter=${suite}.*")
  # A skipped test fails its suite: ctest could only mark the whole suite as skipped, which would
  # hide failures of its other tests.
  set_tests_properties("${suite}" PROPERTIES
    LABELS "${LABEL}" TIMEOUT "${SECONDS}" FAIL_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
endforeach()
