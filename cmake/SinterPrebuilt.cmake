# Builds the Python package against the sinter that is installed in SINTER_PREBUILT, instead of compiling the
# library again. The wheel gets the files of that prefix, so it is the wheel that a whole build gives.
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
add_subdirectory(python)
include(SinterWheel)
