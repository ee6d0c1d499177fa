# Puts the Python package together: its folder in the build tree, and the files of the wheel (pyproject.toml).

# Tests import the package from here: links to its Python sources, and the extension module beside them.
set(package ${CMAKE_BINARY_DIR}/python/sinter)
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/sinter/*)
list(FILTER sources EXCLUDE REGEX "/(__pycache__$|_core|lib)")
file(MAKE_DIRECTORY ${package})
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME)
  file(CREATE_LINK ${source} ${package}/${name} SYMBOLIC)
endforeach()
set_target_properties(sinter_python PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${package})
# The metadata of an installed package, by which torch finds the backend.
file(READ ${PROJECT_SOURCE_DIR}/pyproject.toml project_text)
string(REGEX MATCH "sinter = \"(sinter[.]torch:[a-z]+)\"" entry "${project_text}")
set(metadata ${CMAKE_BINARY_DIR}/python/sinter-${PROJECT_VERSION}.dist-info)
file(WRITE ${metadata}/METADATA "Metadata-Version: 2.1\nName: sinter\nVersion: ${PROJECT_VERSION}\n")
file(WRITE ${metadata}/entry_points.txt "[torch_dynamo_backends]\nsinter = ${CMAKE_MATCH_1}\n")

# Type stubs, for editors and type checkers.
nanobind_add_stub(sinter_python_stubs MODULE sinter._core OUTPUT ${package}/_core.pyi
  PYTHON_PATH ${CMAKE_BINARY_DIR}/python PATTERN_FILE ${CMAKE_CURRENT_LIST_DIR}/stubs.pattern DEPENDS sinter_python)

# Most of the time of a compilation is that of nanobind's headers.
if(SINTER_PRECOMPILE)
  target_precompile_headers(sinter_python PRIVATE
    <functional> <map> <memory> <optional> <string> <unordered_map> <vector> <nanobind/nanobind.h> <sinter/sinter.h>)
  set_target_properties(sinter_python PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  if(TARGET nanobind-static)
    set_target_properties(nanobind-static PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endif()

# In a wheel, the package is an install prefix.
set_target_properties(sinter_python PROPERTIES BUILD_RPATH_USE_ORIGIN OFF INSTALL_RPATH "$ORIGIN/lib")
install(TARGETS sinter_python LIBRARY DESTINATION . COMPONENT python)
install(FILES ${package}/_core.pyi DESTINATION . COMPONENT python)

include(${CMAKE_CURRENT_LIST_DIR}/wheel.cmake)
