# How ctest starts the ranks of MPI programs. A test needs SINTER_MPI_LAUNCHER in front of the number of
# ranks, and the property ENVIRONMENT SINTER_MPI_ENVIRONMENT. The launcher is empty if there is none.
set(SINTER_MPI_LAUNCHER "")
if(MPI_CXX_FOUND AND MPIEXEC_EXECUTABLE)
  set(SINTER_MPI_LAUNCHER ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG})
elseif(MPI_CXX_FOUND)
  message(STATUS "MPI was found, but neither mpiexec nor mpirun, so tests of sinter::mpi are left out; "
    "install one (Debian: openmpi-bin), or set MPIEXEC_EXECUTABLE")
endif()

# Variables of Open MPI 4, and of Open MPI 5 (PRTE, smsc). MPICH ignores all of them.
set(SINTER_MPI_ENVIRONMENT
  # Containers often run tests as root.
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
  # More ranks than cores, and none is tied to a core.
  OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
  OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
  OMPI_MCA_mpi_yield_when_idle=1
  # Containers may forbid that a process reads the memory of another one.
  OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_smsc=^cma)
