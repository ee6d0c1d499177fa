# What a build can be told, and the flags that follow from it.
option(SINTER_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(SINTER_BUILD_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(SINTER_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(SINTER_BUILD_TOOLS "Build the sinter command" ${PROJECT_IS_TOP_LEVEL})
option(SINTER_INSTALL "Make install rules" ${PROJECT_IS_TOP_LEVEL})
option(SINTER_PORTABLE "Make programs for machines that have none of our packages" OFF)

set(werror_default OFF)
if(DEFINED ENV{CI})
  set(werror_default ON)
endif()
option(SINTER_WERROR "Treat warnings as errors" ${werror_default})

set(SINTER_SANITIZE "" CACHE STRING "Build with a sanitizer: address, undefined or thread")
set_property(CACHE SINTER_SANITIZE PROPERTY STRINGS "" address undefined thread)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Kind of build" FORCE)
endif()
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_RUNTIME_OUTPUT_DIRECTORY)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endif()
# Whoever has ccache gets it.
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(SINTER_CCACHE ccache)
  mark_as_advanced(SINTER_CCACHE)
  if(SINTER_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${SINTER_CCACHE})
  endif()
endif()

# Headers that most files of a target include are compiled once. ccache does better with what has not
# changed, and does not see into precompiled headers.
set(precompile_default OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(precompile_default ON)
endif()
option(SINTER_PRECOMPILE "Compile the most used headers once per target" ${precompile_default})

# sinter_precompile(<target> headers…): besides those of the standard library and fmt.
function(sinter_precompile target)
  if(SINTER_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <cmath> <functional> <map> <memory> <optional> <span> <string> <string_view> <unordered_map>
      <utility> <vector> <fmt/format.h> ${ARGN})
  endif()
endfunction()

# sinter_join(<target> <count>): so many of its files are compiled as one, and what all of them include
# and instantiate is compiled once. No two files of a target may define one name in namespaces without
# a name (tests/repo/joined_files_test.cpp), so that it does not matter which files meet.
function(sinter_join target count)
  if(SINTER_PRECOMPILE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
    # A .cpp that is included is taken for a header, whose types must not be made of unnamed ones.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# Everything of ours is compiled with these; consumers of sinter::sinter get none of them.
add_library(sinter_flags INTERFACE)
target_compile_features(sinter_flags INTERFACE cxx_std_20)
target_compile_options(sinter_flags INTERFACE
  -Wall -Wextra -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wformat=2
  # Designated initialisers ({.tune = quick}) leave fields out on purpose.
  -Wno-missing-field-initializers
  # Recorded call sites and messages show paths as seen from the root of the project.
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=
  # Our own arithmetic (folding, oracle, host tests) must round as recorded, on every machine.
  -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(sinter_flags INTERFACE
    -Wshadow=local  # a constructor's parameter may bear the name of the field that it fills
    -fno-semantic-interposition
    -Wno-restrict)  # GCC 12 sees ghosts in std::string (GCC bug 105651)
else()
  target_compile_options(sinter_flags INTERFACE -Wshadow)
endif()
if(SINTER_WERROR)
  target_compile_options(sinter_flags INTERFACE -Werror)
endif()
if(SINTER_SANITIZE)
  target_compile_options(sinter_flags INTERFACE
    -fsanitize=${SINTER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    -Wno-maybe-uninitialized)  # GCC says it of std::function and std::regex when they are instrumented
  target_link_options(sinter_flags INTERFACE -fsanitize=${SINTER_SANITIZE})
  target_compile_definitions(sinter_flags INTERFACE SINTER_SANITIZE_${SINTER_SANITIZE}=1)
endif()
# LLVM names libraries (z, zstd, tinfo) that the little we take of it never calls.
target_link_options(sinter_flags INTERFACE -Wl,--as-needed)
if(SINTER_PORTABLE)
  target_compile_options(sinter_flags INTERFACE -ffunction-sections -fdata-sections)
  target_link_options(sinter_flags INTERFACE -Wl,--gc-sections)
endif()
