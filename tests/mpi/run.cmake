# Run by cmake -P: starts the ranks of a test. Arguments: MPIEXEC (with the flag for the number of
# ranks), RANKS, COMMAND, PASSING (the ranks that must report that they passed), SECONDS, and
# IS_ABANDONED, if ranks end without MPI_Finalize, which mpirun reports as a failure.
cmake_minimum_required(VERSION 3.25)

# For Open MPI; others ignore them. Tests may run as root, on fewer cores than ranks, and ranks may be
# killed while others go on.
set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)
set(ENV{OMPI_MCA_rmaps_base_oversubscribe} 1)
set(ENV{OMPI_MCA_hwloc_base_binding_policy} none)
set(ENV{OMPI_MCA_btl_vader_single_copy_mechanism} none)  # containers may forbid it
set(ENV{OMPI_MCA_mpi_yield_when_idle} 1)
set(ENV{OMPI_MCA_mpi_warn_on_fork} 0)
set(ENV{OMPI_MCA_orte_enable_recovery} 1)
set(ENV{SINTER_CACHE} off)

execute_process(COMMAND ${MPIEXEC} ${RANKS} ${COMMAND}
  TIMEOUT ${SECONDS} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")
foreach(rank IN LISTS PASSING)
  if(NOT output MATCHES "rank ${rank}: passed")
    message(FATAL_ERROR "rank ${rank} of ${RANKS} did not pass (${result})")
  endif()
endforeach()
if(NOT IS_ABANDONED AND NOT result EQUAL 0)
  message(FATAL_ERROR "the ranks ended with ${result}")
endif()
