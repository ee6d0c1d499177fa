# Run by cmake -P: installs the build tree, moves the prefix, and builds main.cpp with the flags that pkg-config
# gives for it. Arguments: BUILD, SCRATCH, COMPILER, FLAGS, VERSION (of the project).
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run_command.cmake)

find_program(PKG_CONFIG NAMES pkg-config pkgconf)
if(NOT PKG_CONFIG)
  message("skipped: there is no pkg-config")
  return()
endif()
file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/installed --component sinter)
file(RENAME ${SCRATCH}/installed ${SCRATCH}/moved)
file(GLOB_RECURSE file ${SCRATCH}/moved/sinter.pc)
get_filename_component(folder ${file} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${folder})
get_filename_component(library_dir ${folder} DIRECTORY)

# query(<result> options…): the words that pkg-config prints about sinter.
function(query result)
  execute_process(COMMAND ${PKG_CONFIG} ${ARGN} sinter OUTPUT_VARIABLE output
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(words UNIX_COMMAND "${output}")
  set(${result} ${words} PARENT_SCOPE)
endfunction()

query(version --modversion)
if(NOT version STREQUAL VERSION)
  message(FATAL_ERROR "pkg-config says version ${version}, the project is ${VERSION}")
endif()
query(flags --cflags)
query(libraries --libs)
run(${COMPILER} -std=c++20 ${FLAGS} ${flags} -o ${SCRATCH}/consumer ${CMAKE_CURRENT_LIST_DIR}/main.cpp
    ${libraries} -Wl,-rpath,${library_dir})
run(${SCRATCH}/consumer)
