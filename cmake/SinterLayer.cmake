# sinter_layer(<name> [SOURCES extra.cpp…] [EXCEPT folders…] LINK libraries… [PRECOMPILE headers…]):
# one layer of sinter, a static library of all .cpp files in its folder, except those in the given
# folders. A layer without sources is an interface library.
function(sinter_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 layer "" "" "SOURCES;EXCEPT;LINK;PRECOMPILE")
  set(target sinter_${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(folder IN LISTS layer_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${folder}/")
  endforeach()
  list(APPEND sources ${layer_SOURCES})
  if(sources)
    add_library(${target} STATIC ${sources})
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(${target} PRIVATE sinter_flags PUBLIC ${layer_LINK})
    sinter_precompile(${target} ${layer_PRECOMPILE})
    sinter_unity_build(${target} 12)
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${layer_LINK})
    set(scope INTERFACE)
  endif()
  # The root for internal headers ("ir/graph/node.h"), include/ for public ones (<sinter/graph.h>).
  target_include_directories(${target} ${scope}
    ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/include)
  target_compile_features(${target} ${scope} cxx_std_20)
endfunction()
