# A wheel is a zip file without symbolic links, which would become copies of the library. So a wheel has the
# library under the one name that the loader looks for, and its CMake package names that file.
if(SKBUILD)
  install(CODE "set(library_dir \"${CMAKE_INSTALL_LIBDIR}\")" COMPONENT python)
  install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/wheel_library.cmake COMPONENT python)
endif()
