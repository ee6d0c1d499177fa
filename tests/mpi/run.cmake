# Run by cmake -P: starts the ranks of a test. Arguments: LAUNCHER (with the flag for the number of
# ranks), RANKS, COMMAND, PASSING (the ranks that must report that they passed), SECONDS, and
# IS_ABANDONED, if ranks end without MPI_Finalize, which mpiexec reports as a failure.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${LAUNCHER} ${RANKS} ${COMMAND}
  TIMEOUT ${SECONDS} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")
# Not a number: they took too long, or mpiexec was killed or cannot be started.
if(NOT result MATCHES "^-?[0-9]+$")
  message(FATAL_ERROR "the ranks did not end by themselves within ${SECONDS} s (${result})")
endif()
foreach(rank IN LISTS PASSING)
  if(NOT output MATCHES "rank ${rank}: passed")
    message(FATAL_ERROR "rank ${rank} of ${RANKS} did not pass (${result})")
  endif()
endforeach()
if(NOT IS_ABANDONED AND NOT result EQUAL 0)
  message(FATAL_ERROR "the ranks ended with ${result}")
endif()
