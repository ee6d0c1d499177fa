# Runs an example on a virtual GPU. It must succeed, print a text that matches EXPECTED, and launch
# kernels on the GPU. Expects PROGRAM, ARGUMENTS, EXPECTED and COUNTS, a file for the launches.
file(REMOVE "${COUNTS}")
set(ENV{VIRTUAL_GPU_COUNTS} "${COUNTS}")
execute_process(
  COMMAND "${PROGRAM}" ${ARGUMENTS}
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output
  RESULT_VARIABLE status)
message("${output}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${status}")
endif()
if(NOT output MATCHES "${EXPECTED}")
  message(FATAL_ERROR "${PROGRAM} prints no text that matches ${EXPECTED}")
endif()
set(launches "")
if(EXISTS "${COUNTS}")
  file(STRINGS "${COUNTS}" launches LIMIT_COUNT 1)
endif()
if(launches STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} launched no kernel on the virtual GPU")
endif()
