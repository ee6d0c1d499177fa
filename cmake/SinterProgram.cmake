# sinter_program(<name> SOURCES files… [LINK libraries…] [SHARED_RUNTIME]): a test, example,
# benchmark or command. A portable build links the C++ runtime statically. With SHARED_RUNTIME, for
# a program with a shared library that needs the shared runtime, it finds both in ../lib instead. A
# portable program expects the project's data in the current folder (tools/bundle puts it there).
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
