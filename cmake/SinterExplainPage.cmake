# sinter_embed_explain_page(<variable>): turns the explanation page (runtime/observe/page) into
# page_text.cpp at build time and puts that file's path into the variable.
function(sinter_embed_explain_page variable)
  set(folder ${PROJECT_SOURCE_DIR}/runtime/observe/page)
  # In the order of concatenation.
  set(scripts format.js highlight.js layers.js graph_layout.js graph_view.js kernel_view.js
      charts.js page.js)
  set(parts page.html page.css ${scripts})
  list(TRANSFORM parts PREPEND ${folder}/)
  set(output ${PROJECT_BINARY_DIR}/generated/runtime/observe/page_text.cpp)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_explain_page.cmake)
  list(JOIN scripts "," script_list)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DSCRIPTS=${script_list} -DOUTPUT=${output} -P ${script}
    DEPENDS ${parts} ${script} ${PROJECT_SOURCE_DIR}/cmake/text_literal.cmake
    COMMENT "Embedding the explanation page"
    VERBATIM)
  set(${variable} ${output} PARENT_SCOPE)
endfunction()
