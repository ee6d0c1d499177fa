# Run by cmake -P: concatenates the prelude files for each device and writes them as C++ string
# literals. Arguments: FOLDER; CUDA and HOST (comma-separated names of the files for one device),
# HOST_FUNCTIONS (also for the host device, but only for kernels that name them), SHARED (files for
# both, placed after them); OUTPUT.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/text_literal.cmake)

# Sets `result` to the text of the files in order, without `#pragma once` and `#include "…"` lines.
function(join_files result names)
  set(text "")
  string(REPLACE "," ";" names "${names}")
  foreach(name IN LISTS names)
    if(NOT EXISTS ${FOLDER}/${name})
      continue()
    endif()
    file(READ ${FOLDER}/${name} part)
    string(REGEX REPLACE "(^|\n)[ \t]*#[ \t]*pragma once[^\n]*" "\\1" part "${part}")
    string(REGEX REPLACE "(^|\n)[ \t]*#[ \t]*include[ \t]*\"[^\n]*" "\\1" part "${part}")
    string(APPEND text "${part}\n")
  endforeach()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

join_files(cuda "${CUDA}")
join_files(host "${HOST}")
join_files(host_functions "${HOST_FUNCTIONS}")
join_files(shared "${SHARED}")
to_literal(cuda_literal "${cuda}")
to_literal(host_literal "${host}")
to_literal(host_functions_literal "${host_functions}")
to_literal(shared_literal "${shared}")
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [=[
// Generated from codegen/device by cmake/embed_prelude.cmake.
#include "codegen/prelude/prelude.h"

namespace sinter {
namespace {

constexpr std::string_view kCudaOnly =
@cuda_literal@    ;

constexpr std::string_view kCuda =
@cuda_literal@@shared_literal@    ;

constexpr std::string_view kHostOnly =
@host_literal@    ;

constexpr std::string_view kHost =
@host_literal@@host_functions_literal@@shared_literal@    ;

}  // namespace

std::string_view prelude_text(Prelude which) { return which == Prelude::cuda ? kCuda : kHost; }

std::string_view prelude_of_one_device(Prelude which) {
  return which == Prelude::cuda ? kCudaOnly : kHostOnly;
}

}  // namespace sinter
]=])
