# Finds the libraries that sinter is built with. CUDA is not one of them: sinter opens the driver
# and NVRTC at run time.

# sinter_find(<package> <title> <Debian package> arguments…): find_package, or an error that says what to
# install.
macro(sinter_find package title debian)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    set(found "")
    if(${package}_CONSIDERED_VERSIONS)
      set(found " (found ${${package}_CONSIDERED_VERSIONS} in ${${package}_CONSIDERED_CONFIGS})")
    endif()
    message(FATAL_ERROR "sinter needs ${title}${found}. Run `bash tools/setup` in the root of the project, "
      "which installs all packages, or install ${debian} on Debian, or set ${package}_DIR.")
  endif()
endmacro()

# LLVM: the newest installed version from 16 on, or the one in LLVM_DIR if that is set. Only ADT and
# Support are used, linked statically.
if(NOT LLVM_DIR)
  foreach(version RANGE 30 16 -1)
    find_package(LLVM ${version} QUIET CONFIG HINTS /usr/lib/llvm-${version}/lib/cmake/llvm)
    if(LLVM_FOUND)
      break()
    endif()
  endforeach()
endif()
sinter_find(LLVM "LLVM 16 or later" llvm-19-dev CONFIG)
if(LLVM_VERSION_MAJOR LESS 16)
  message(FATAL_ERROR "sinter needs LLVM 16 or later, found ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}")
endif()
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION} from ${LLVM_DIR}")
add_library(sinter_llvm INTERFACE)
target_include_directories(sinter_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(sinter_llvm INTERFACE LLVMSupport LLVMDemangle)

# fmt: linked statically, so that the installed library needs no libfmt.so. If the package has no
# static library (Debian's has none), fmt 9 is compiled here; other versions are used header-only,
# which costs about three seconds more per file.
sinter_find(fmt "fmt 9 or later" libfmt-dev 9 CONFIG)
find_library(SINTER_FMT_ARCHIVE NAMES libfmt.a)
mark_as_advanced(SINTER_FMT_ARCHIVE)
if(SINTER_FMT_ARCHIVE OR fmt_VERSION VERSION_LESS 10)
  add_library(sinter_fmt_headers INTERFACE)
  get_target_property(fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(sinter_fmt_headers SYSTEM INTERFACE ${fmt_include})
endif()
if(SINTER_FMT_ARCHIVE)
  add_library(sinter_fmt INTERFACE)
  target_link_libraries(sinter_fmt INTERFACE sinter_fmt_headers ${SINTER_FMT_ARCHIVE})
elseif(fmt_VERSION VERSION_LESS 10)
  add_library(sinter_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt_archive.cpp)
  set_target_properties(sinter_fmt PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_features(sinter_fmt PUBLIC cxx_std_20)
  target_link_libraries(sinter_fmt PUBLIC sinter_fmt_headers)
else()
  add_library(sinter_fmt INTERFACE)
  target_link_libraries(sinter_fmt INTERFACE fmt::fmt-header-only)
endif()

find_package(Threads REQUIRED)
# MPI, for the optional library sinter::mpi (runtime/mpi), without its C++ bindings.
set(MPI_CXX_SKIP_MPICXX ON CACHE BOOL "Do not use the C++ bindings of MPI")
find_package(MPI QUIET COMPONENTS CXX)
set(Boost_USE_STATIC_LIBS ON)
sinter_find(Boost "Boost.Context 1.74 or later" libboost-context-dev 1.74 CONFIG COMPONENTS context)
sinter_find(nlohmann_json "nlohmann-json 3.9 or later" nlohmann-json3-dev 3.9 CONFIG)
if(SINTER_BUILD_TOOLS)
  sinter_find(CLI11 "CLI11 2" libcli11-dev 2 CONFIG)
endif()
if(SINTER_BUILD_TESTS)
  sinter_find(GTest GoogleTest "libgtest-dev libgmock-dev" CONFIG)
  include(GoogleTest)
endif()
if(SINTER_BUILD_BENCH)
  sinter_find(benchmark "Google Benchmark" libbenchmark-dev CONFIG)
endif()
