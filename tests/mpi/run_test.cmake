# Run by cmake -P: tests run.cmake with a launcher that only prints what ranks print. Arguments: SCRATCH.
cmake_minimum_required(VERSION 3.25)

# expect(<what> <message or empty> <script> arguments…): the ranks of `script` fail with the message.
function(expect what message script)
  file(WRITE ${SCRATCH}/launcher.sh "${script}")
  execute_process(
    COMMAND ${CMAKE_COMMAND} "-DLAUNCHER=sh;${SCRATCH}/launcher.sh" -DRANKS=2 -DCOMMAND=program
            "-DPASSING=0;1" -DSECONDS=2 ${ARGN} -P ${CMAKE_CURRENT_LIST_DIR}/run.cmake
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")  # CMake wraps messages
  if(message STREQUAL "" AND NOT result EQUAL 0)
    message(FATAL_ERROR "${what}: expected success, not ${output}")
  elseif(NOT message STREQUAL "" AND (result EQUAL 0 OR NOT output MATCHES "${message}"))
    message(FATAL_ERROR "${what}: expected \"${message}\", not ${result}: ${output}")
  endif()
endfunction()

set(passed "echo rank 0: passed\necho rank 1: passed\n")
expect("all pass" "" "${passed}" -DIS_ABANDONED=OFF)
expect("abandoned" "" "${passed}exit 1\n" -DIS_ABANDONED=ON)
expect("a status" "the ranks ended with 3" "${passed}exit 3\n" -DIS_ABANDONED=OFF)
expect("a rank is missing" "rank 1 of 2 did not pass" "echo rank 0: passed\n" -DIS_ABANDONED=ON)
foreach(is_abandoned IN ITEMS ON OFF)
  expect("late, abandoned ${is_abandoned}" "did not end by themselves within 2 s" "${passed}exec sleep 30\n"
    -DIS_ABANDONED=${is_abandoned})
endforeach()
expect("killed" "did not end by themselves" "${passed}kill -9 $$\n" -DIS_ABANDONED=ON)
expect("no launcher" "did not end by themselves" "" -DIS_ABANDONED=ON -DLAUNCHER=/no/mpiexec)
