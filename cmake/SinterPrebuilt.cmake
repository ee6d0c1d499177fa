# Builds the Python package against the sinter that is installed in SINTER_PREBUILT, instead of compiling the
# library again. The wheel gets the files of that prefix, so it is the wheel that a whole build gives. If the
# component python of a build for the same Python is installed there, too, nothing is compiled.
include(GNUInstallDirs)
find_package(sinter ${PROJECT_VERSION} EXACT CONFIG QUIET NO_DEFAULT_PATH PATHS ${SINTER_PREBUILT})
if(NOT sinter_FOUND)
  message(FATAL_ERROR "SINTER_PREBUILT=${SINTER_PREBUILT} has no sinter ${PROJECT_VERSION}; "
    "`cmake --install BUILD --component sinter --prefix ${SINTER_PREBUILT}` installs it there")
endif()
foreach(folder IN ITEMS ${CMAKE_INSTALL_INCLUDEDIR} ${CMAKE_INSTALL_LIBDIR} ${CMAKE_INSTALL_DATADIR})
  install(DIRECTORY ${SINTER_PREBUILT}/${folder}/ DESTINATION ${folder} COMPONENT sinter
    PATTERN "*mpi*" EXCLUDE)
endforeach()

set(module ${SINTER_PREBUILT}/_core.${SKBUILD_SOABI}.so)
if(NOT EXISTS ${module})
  set(module ${SINTER_PREBUILT}/_core.${SKBUILD_SOSABI}.so)
endif()
if(EXISTS ${module})
  install(FILES ${module} ${SINTER_PREBUILT}/_core.pyi DESTINATION . COMPONENT python)
  include(python/wheel.cmake)
else()
  add_subdirectory(python)
endif()
