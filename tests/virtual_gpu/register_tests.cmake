# Read by ctest when it starts: adds the tests of a GPU on virtual GPUs. Expects GPU_TESTS,
# PARITY_TESTS and EXAMPLES, which are paths; EXAMPLES is empty if there are none. LIBRARY is the
# folder of the double of libcuda.so.1, SCRATCH a folder for files, and CMAKE the program.
cmake_policy(VERSION 3.25)

# Sets `result` to the names of the tests of `binary`.
function(list_tests result binary)
  if(NOT EXISTS "${binary}")
    add_test("${binary}_NOT_BUILT" "${binary}_NOT_BUILT")
    set(${result} "" PARENT_SCOPE)
    return()
  endif()
  execute_process(
    COMMAND "${binary}" --gtest_list_tests
    OUTPUT_VARIABLE listing
    RESULT_VARIABLE status
    TIMEOUT 60)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${binary} --gtest_list_tests failed (${status}):\n${listing}")
  endif()
  string(REGEX MATCHALL "\n *[^ \n#]+" lines "\n${listing}")
  set(suite "")
  set(tests "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^\n  ([^ ]+)$")
      list(APPEND tests "${suite}${CMAKE_MATCH_1}")
    elseif(line MATCHES "^\n([^ ]+\\.)$")
      set(suite "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  set(${result} "${tests}" PARENT_SCOPE)
endfunction()

# Sets `result` to one of the further arguments. It depends on the text alone, so that a new test
# does not change the others.
function(choose result text)
  string(SHA256 hash "${text}")
  string(SUBSTRING "${hash}" 0 6 digits)
  list(LENGTH ARGN count)
  math(EXPR index "0x${digits} % ${count}")
  list(GET ARGN ${index} chosen)
  set(${result} "${chosen}" PARENT_SCOPE)
endfunction()

# The settings of a virtual GPU. A small L2 cache makes tuning fast, which flushes the cache before
# each measurement. Several tests need two devices.
function(set_up name arch schedule approximations unfused)
  string(SHA256 hash "${name}")
  string(SUBSTRING "${hash}" 0 6 seed)
  math(EXPR seed "0x${seed}")
  set(gpus "${arch} sms=4 l2=64k, ${arch} sms=4 l2=64k")
  if(name MATCHES "GpuNccl")
    string(APPEND gpus ", ${gpus}")
  endif()
  set_tests_properties("${name}" PROPERTIES LABELS vgpu TIMEOUT 900
    SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]"
    ENVIRONMENT "LD_LIBRARY_PATH=${LIBRARY};VIRTUAL_GPUS=${gpus};\
VIRTUAL_GPU_SCHEDULE=${schedule};VIRTUAL_GPU_APPROXIMATIONS=${approximations};\
VIRTUAL_GPU_SEED=${seed};SINTER_PTX=on;SINTER_CACHE=off;SINTER_TEST_UNFUSED=${unfused}")
endfunction()

function(add_virtual_gpu_test group binary test arch schedule approximations)
  set(name "VirtualGpu_${group}/${test}")
  add_test("${name}" "${binary}" "--gtest_filter=${test}")
  # Kernels of single nodes run on sm_90. On others, the op table and the reductions have them.
  set(unfused off)
  if(group STREQUAL "sm_90")
    set(unfused on)
  endif()
  set_up("${name}" ${arch} ${schedule} ${approximations} ${unfused})
endfunction()

list_tests(gpu_tests "${GPU_TESTS}")
# cuBLASLt and cuDNN do not run on the double of libcuda.
list(FILTER gpu_tests EXCLUDE REGEX "Gpu(Matmul|Conv|LibraryGraphs)[.]")
list_tests(parity_tests "${PARITY_TESTS}")

# Tests on sm_90, with correctly rounded approximations and a fair schedule. Then tests on
# another architecture, where approximations have errors and the schedule is as unkind as possible.
set(number 0)
set(position 0)
set(reduction 0)
set(archs sm_75 sm_80 sm_100 sm_120)
foreach(test IN LISTS gpu_tests parity_tests)
  set(binary "${PARITY_TESTS}")
  if(test IN_LIST gpu_tests)
    set(binary "${GPU_TESTS}")
  else()
    math(EXPR position "${position} + 1")
  endif()
  math(EXPR index "${number} % 4")
  math(EXPR third "(${number} + 1) % 3")
  math(EXPR number "${number} + 1")
  # Reductions and graphs of models take most of the time. Each family of reductions runs with two of its
  # seven dtypes on sm_90, and with another one on one of the other architectures. The host device runs
  # all of them, and its kernels have the same text.
  set(is_on_sm_90 TRUE)
  set(is_on_others TRUE)
  if(test MATCHES "GpuInvariance")
    math(EXPR family "${reduction} / 7")
    math(EXPR dtype "(${reduction} + 2 * ${family}) % 7")
    math(EXPR index "${family} % 4")
    math(EXPR reduction "${reduction} + 1")
    if(NOT dtype MATCHES "^[03]$")
      set(is_on_sm_90 FALSE)
    endif()
    if(NOT dtype EQUAL 5)
      set(is_on_others FALSE)
    endif()
  elseif(test MATCHES "CorpusParity")  # two thirds of the graphs of models on sm_90, and one on the others
    if(third EQUAL 0)
      set(is_on_sm_90 FALSE)
    else()
      set(is_on_others FALSE)
    endif()
  elseif(test MATCHES "^Golden/|OpParity")  # half of them
    math(EXPR half "${position} % 2")
    if(half EQUAL 1)
      set(is_on_others FALSE)
    endif()
  endif()
  if(is_on_sm_90)
    add_virtual_gpu_test(sm_90 "${binary}" "${test}" sm_90 fair exact)
  endif()
  if(is_on_others)
    list(GET archs ${index} arch)
    set("unkind_arch_${test}" ${arch})
    choose(schedule "${test}" random adversarial)
    add_virtual_gpu_test(unkind "${binary}" "${test}" ${arch} ${schedule} seeded)
  endif()
endforeach()

# The other half of the graphs of tests/golden, and special values, on the other architectures, whose
# code differs least from that of the architectures above.
set(number 0)
foreach(test IN LISTS parity_tests)
  math(EXPR number "${number} + 1")
  math(EXPR half "${number} % 2")
  if(test MATCHES "CorpusParity|EveryOp" OR half EQUAL 0)
    continue()
  endif()
  choose(arch "${test}" sm_87 sm_88 sm_103 sm_110 sm_121)
  add_virtual_gpu_test(variants "${PARITY_TESTS}" "${test}" ${arch} random exact)
endforeach()

# The tests of the runtime on every architecture that does not have them above. Reductions take long,
# and are above. So are those of NCCL, whose double is the same on all. The longest suites run on three
# architectures, those above and one more.
foreach(test IN LISTS gpu_tests)
  if(NOT test MATCHES "GpuInvariance|^GpuMemory|GpuNccl")
    set(others ${archs})
    list(REMOVE_ITEM others "${unkind_arch_${test}}")
    if(test MATCHES "^(Gpu|GpuCapture|SavedGpu)[.]")
      choose(others "${test}" ${others})
    endif()
    foreach(arch IN LISTS others)
      add_virtual_gpu_test(${arch} "${GPU_TESTS}" "${test}" ${arch} fair exact)
    endforeach()
  endif()
endforeach()

# The examples, as users run them. Tuning and training take long on an interpreter.
function(add_example suite program arguments expected)
  set(name "VirtualGpu_sm_90/${suite}.${program}")
  add_test("${name}" "${CMAKE}" "-DPROGRAM=${EXAMPLES}/${program}" "-DARGUMENTS=${arguments}"
    "-DEXPECTED=${expected}" "-DCOUNTS=${SCRATCH}/${program}.jsonl"
    -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/run_example.cmake")
  set_up("${name}" sm_90 fair exact on)
endfunction()
if(EXAMPLES)
  add_example(Examples hello "" "5 [+] 50 = 55")
  add_example(LongExamples save_and_load "" "1200 rows on virtual GPU H200 [(]sm_90[)]: y = 0.00390625")
  add_example(LongExamples tour "" "__global__")
  add_example(LongExamples digits "--device;cuda;--steps;150" "training end in bit-identical weights")
endif()
