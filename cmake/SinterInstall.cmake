# sinter::sinter, the target that users link: libsinter.so, which contains the four layers, LLVM,
# fmt and Boost. It exports only names of namespace sinter (exports.map). So it cannot clash with
# another LLVM in the process, and programs that link it need none of these libraries.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(layers ir compiler codegen runtime)
add_library(sinter SHARED)
add_library(sinter::sinter ALIAS sinter)
set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
set_target_properties(sinter PROPERTIES
  LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LINK_DEPENDS ${exports})
target_compile_features(sinter INTERFACE cxx_std_20)
target_link_options(sinter PRIVATE
  -Wl,--version-script=${exports} -Wl,--exclude-libs,ALL -Wl,-Bsymbolic-functions -Wl,--as-needed)
if(NOT SINTER_SANITIZE)  # the program provides the runtime of a sanitizer
  target_link_options(sinter PRIVATE -Wl,--no-undefined)
endif()
target_link_libraries(sinter PRIVATE sinter_flags)
foreach(layer IN LISTS layers)
  get_target_property(type sinter_${layer} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    target_sources(sinter PRIVATE $<TARGET_OBJECTS:sinter_${layer}>)
  endif()
  target_link_libraries(sinter PRIVATE sinter_${layer})
  target_include_directories(sinter
    INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${layer}/include>)
endforeach()
target_include_directories(sinter INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

if(SINTER_INSTALL)
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sinter)
  install(TARGETS sinter EXPORT sinterTargets COMPONENT sinter)
  foreach(layer IN LISTS layers)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${layer}/include/sinter
      DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sinter
      FILES_MATCHING PATTERN *.h PATTERN *.def)
  endforeach()
  install(FILES ${PROJECT_SOURCE_DIR}/runtime/observe/explain.schema.json
    DESTINATION ${CMAKE_INSTALL_DATADIR}/sinter COMPONENT sinter)
  install(EXPORT sinterTargets NAMESPACE sinter:: DESTINATION ${package_dir} COMPONENT sinter)
  set(sinter_components "")
  if(MPI_CXX_FOUND)
    set(sinter_components mpi)
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/sinterConfig.cmake.in
    ${PROJECT_BINARY_DIR}/sinterConfig.cmake @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/sinterConfig.cmake
    DESTINATION ${package_dir} COMPONENT sinter)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/sinterConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/sinterConfigVersion.cmake
    DESTINATION ${package_dir} COMPONENT sinter)

  # For pkg-config. Its paths are relative to the file, so that the prefix can move.
  file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
  file(RELATIVE_PATH pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
  file(RELATIVE_PATH pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/sinter.pc.in ${PROJECT_BINARY_DIR}/sinter.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/sinter.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT sinter)
endif()
