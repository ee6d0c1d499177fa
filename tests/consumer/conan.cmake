# Run by cmake -P: makes a Conan package of the installed build tree, and builds and runs tests/consumer/conan with it.
# Arguments: SOURCE, BUILD, SCRATCH, GENERATOR, CONFIG, CONAN (the program).
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run_command.cmake)
if(NOT EXISTS ${CONAN})
  message("skipped: there is no conan; `tools/setup tests all` installs it")
  return()
endif()
file(REMOVE_RECURSE ${SCRATCH})
set(ENV{CONAN_HOME} ${SCRATCH}/home)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix --component sinter)
run(${CONAN} profile detect)
run(${CONAN} create ${SOURCE} --no-remote -s build_type=${CONFIG} -c user.sinter:prebuilt=${SCRATCH}/prefix
    -c tools.cmake.cmaketoolchain:generator=${GENERATOR} -c tools.cmake.cmake_layout:test_folder=${SCRATCH}/test)
