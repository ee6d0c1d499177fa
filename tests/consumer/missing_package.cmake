# Run by cmake -P: configures the project as if a package were missing, and expects an error that names the
# package and the command that installs it. Arguments: SOURCE, SCRATCH, GENERATOR.
cmake_minimum_required(VERSION 3.25)
foreach(package IN ITEMS fmt Boost)
  file(REMOVE_RECURSE ${SCRATCH})
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH} -G ${GENERATOR}
      -DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON -DSINTER_BUILD_TESTS=OFF
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(result EQUAL 0 OR NOT output MATCHES "sinter needs ${package}[.a-zA-Z]* .* tools/setup"
     OR NOT output MATCHES "${package}_DIR")
    message(FATAL_ERROR "without ${package}, the configuration ended with ${result} and said: ${output}")
  endif()
endforeach()
