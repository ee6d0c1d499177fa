# sinter_embed_prelude(<variable>): turns the device code of codegen/device into prelude_text.cpp at
# build time and puts that file's path into the variable. Files that do not exist are skipped.
function(sinter_embed_prelude variable)
  set(folder ${PROJECT_SOURCE_DIR}/codegen/device)
  set(shared float8.cuh types.cuh math.cuh functions.cuh special.cuh states.cuh reduce.cuh
      columns/column_reduce.cuh columns/row_columns.cuh columns/column_split.cuh columns/column_clusters.cuh
      resident_tiles.cuh scan.cuh table.cuh tile.cuh)
  set(cuda cuda_primitives.cuh cuda_blocks.cuh cuda_shared_states.cuh cuda_copies.cuh)
  set(host host_api.h host_primitives.h host_kernel.h)
  # Kernels get only those of these functions that they name.
  set(host_functions host_math/extremes.h host_math/powers.h host_math/exponentials.h host_math/logarithms.h
      host_math/error_function.h host_math/trigonometry.h host_math/inverse_functions.h
      host_math/fast_functions.h)

  file(GLOB present CONFIGURE_DEPENDS ${folder}/*.cuh ${folder}/*.h ${folder}/columns/*.cuh
       ${folder}/host_math/*.h)
  set(output ${PROJECT_BINARY_DIR}/generated/codegen/prelude_text.cpp)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_prelude.cmake)
  list(JOIN cuda "," cuda_list)
  list(JOIN host "," host_list)
  list(JOIN host_functions "," host_functions_list)
  list(JOIN shared "," shared_list)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DCUDA=${cuda_list} -DHOST=${host_list}
            -DHOST_FUNCTIONS=${host_functions_list} -DSHARED=${shared_list} -DOUTPUT=${output} -P ${script}
    DEPENDS ${present} ${script} ${PROJECT_SOURCE_DIR}/cmake/text_literal.cmake
    COMMENT "Embedding the prelude"
    VERBATIM)
  set(${variable} ${output} PARENT_SCOPE)
endfunction()
