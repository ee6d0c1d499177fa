# Run by cmake -P: installs the build tree into a scratch prefix, then configures, builds and runs the
# project beside this file, or in its folder PROJECT, against it. Arguments: BUILD, SCRATCH, GENERATOR,
# COMPILER, FLAGS, CONFIG, COMPONENTS (to install), LAUNCHER (in front of the program), PROJECT.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run_command.cmake)

file(REMOVE_RECURSE ${SCRATCH})
foreach(component IN LISTS COMPONENTS)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix --component ${component})
endforeach()
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/${PROJECT} -B ${SCRATCH}/build -G ${GENERATOR}
    -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix -DCMAKE_BUILD_TYPE=${CONFIG}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS})
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${LAUNCHER} ${SCRATCH}/build/consumer)
