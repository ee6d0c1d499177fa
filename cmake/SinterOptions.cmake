# The options of the build, and the compiler flags that follow from them.
option(SINTER_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(SINTER_BUILD_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(SINTER_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(SINTER_BUILD_TOOLS "Build the sinter command" ${PROJECT_IS_TOP_LEVEL})
option(SINTER_INSTALL "Create install rules" ${PROJECT_IS_TOP_LEVEL})
set(SINTER_PREBUILT "" CACHE PATH "A prefix with an installed sinter, for builds of the Python package alone")
option(SINTER_PORTABLE "Build programs that run on machines without our packages" OFF)

set(werror_default OFF)
if(DEFINED ENV{CI})
  set(werror_default ON)
endif()
option(SINTER_WERROR "Treat warnings as errors" ${werror_default})

set(SINTER_SANITIZE "" CACHE STRING "Build with a sanitizer: address, undefined or thread")
set_property(CACHE SINTER_SANITIZE PROPERTY STRINGS "" address undefined thread)

# With the Python of tools/setup, unless that could not load a module: it is built without sanitizers.
set(python_default OFF)
if(PROJECT_IS_TOP_LEVEL AND DEFINED ENV{SINTER_PYTHON} AND NOT SINTER_SANITIZE AND NOT SINTER_PORTABLE)
  set(python_default ON)
  set(Python_EXECUTABLE $ENV{SINTER_PYTHON} CACHE FILEPATH "The Python for which the package is built")
endif()
option(SINTER_BUILD_PYTHON "Build the Python package" ${python_default})

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_RUNTIME_OUTPUT_DIRECTORY)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endif()
# Uses ccache if it is installed.
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(SINTER_CCACHE ccache)
  mark_as_advanced(SINTER_CCACHE)
  if(SINTER_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${SINTER_CCACHE})
  endif()
endif()

# Precompiles the headers that most files of a target include. Not with ccache: it is faster for
# unchanged files, and cannot cache with precompiled headers.
set(precompile_default OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(precompile_default ON)
endif()
option(SINTER_PRECOMPILE "Compile the most used headers once per target" ${precompile_default})

# sinter_precompile(<target> headers…): precompiles common standard headers, fmt and `headers`.
function(sinter_precompile target)
  if(SINTER_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <cmath> <functional> <map> <memory> <optional> <span> <string> <string_view> <unordered_map>
      <utility> <vector> <fmt/format.h> ${ARGN})
  endif()
endfunction()

# sinter_unity_build(<target> <count>): a unity build with `count` files per batch, so that common headers
# and instantiations are compiled once per batch. No two files of a target may define one name in
# unnamed namespaces (tests/repo/unity_build_names_test.cpp), so that any files can share a batch.
function(sinter_unity_build target count)
  if(SINTER_PRECOMPILE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
    # GCC treats an included .cpp as a header, and warns if its types use types of unnamed
    # namespaces.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# The flags for all our targets. Users of sinter::sinter do not inherit them.
add_library(sinter_flags INTERFACE)
target_compile_features(sinter_flags INTERFACE cxx_std_20)
target_compile_options(sinter_flags INTERFACE
  -Wall -Wextra -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wformat=2
  # Designated initialisers ({.tune = quick}) omit fields on purpose.
  -Wno-missing-field-initializers
  # Recorded call sites and messages show paths relative to the root of the project.
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=
  # Arithmetic in our code (folding, oracle, host tests) must round as recorded, on every machine.
  -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(sinter_flags INTERFACE
    -Wshadow=local  # a constructor parameter may have the name of its field
    -fno-semantic-interposition
    -Wno-restrict)  # false positives in std::string with GCC 12 (GCC bug 105651)
else()
  target_compile_options(sinter_flags INTERFACE -Wshadow)
endif()
if(SINTER_WERROR)
  target_compile_options(sinter_flags INTERFACE -Werror)
endif()
if(SINTER_SANITIZE)
  target_compile_options(sinter_flags INTERFACE
    -fsanitize=${SINTER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    -Wno-maybe-uninitialized)  # false positives in instrumented std::function and std::regex
  target_link_options(sinter_flags INTERFACE -fsanitize=${SINTER_SANITIZE})
  target_compile_definitions(sinter_flags INTERFACE SINTER_SANITIZE_${SINTER_SANITIZE}=1)
endif()
# LLVM links libraries (z, zstd, tinfo) that the parts of it that we use never call.
target_link_options(sinter_flags INTERFACE -Wl,--as-needed)
if(SINTER_PORTABLE)
  target_compile_options(sinter_flags INTERFACE -ffunction-sections -fdata-sections)
  target_link_options(sinter_flags INTERFACE -Wl,--gc-sections)
endif()
