# sinter_program(<name> SOURCES files… [LINK libraries…] [SHARED_RUNTIME]): a test, example, benchmark or
# command. In a portable build it carries the C++ runtime inside, or, where SHARED_RUNTIME says that a
# library of its own needs the shared one, looks for both in ../lib, and takes the folder that it is
# run from for the root of the project (tools/bundle puts the data there).
function(sinter_program name)
  cmake_parse_arguments(PARSE_ARGV 1 program "SHARED_RUNTIME" "" "SOURCES;LINK")
  add_executable(${name} ${program_SOURCES})
  target_link_libraries(${name} PRIVATE sinter_flags sinter_runtime ${program_LINK})
  set(source_dir ${PROJECT_SOURCE_DIR})
  if(SINTER_PORTABLE)
    set(source_dir .)
    if(program_SHARED_RUNTIME)
      set_target_properties(${name} PROPERTIES BUILD_RPATH "$ORIGIN/../lib")
    else()
      target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
    endif()
  endif()
  target_compile_definitions(${name} PRIVATE SINTER_SOURCE_DIR="${source_dir}")
endfunction()
