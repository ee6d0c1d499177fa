# find_package(sinter [COMPONENTS mpi]): sinter::sinter, and sinter::mpi with the component mpi.
include(${CMAKE_CURRENT_LIST_DIR}/sinterTargets.cmake)
foreach(component IN LISTS sinter_FIND_COMPONENTS)
  include(${CMAKE_CURRENT_LIST_DIR}/sinter_${component}Targets.cmake
    OPTIONAL RESULT_VARIABLE targets)
  if(targets)
    set(sinter_${component}_FOUND TRUE)
  elseif(sinter_FIND_REQUIRED_${component})
    set(sinter_FOUND FALSE)
    set(sinter_NOT_FOUND_MESSAGE
      "This sinter has no component ${component}. The component mpi is built where CMake finds MPI.")
  endif()
endforeach()
