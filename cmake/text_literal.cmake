# A function for scripts that write text into C++ files.

# to_literal(<result> <text>): `text` as adjacent C++ string literals. The standard guarantees 64
# KiB per literal, and compilers may allow less. So each literal has whole lines of at most 8 KiB.
function(to_literal result text)
  set(literal "    \"\"\n")
  while(NOT text STREQUAL "")
    string(SUBSTRING "${text}" 0 8192 piece)
    string(FIND "${piece}" "\n" end REVERSE)
    if(end EQUAL -1)
      message(FATAL_ERROR "an embedded text has a line of more than 8192 characters")
    endif()
    math(EXPR end "${end} + 1")
    string(SUBSTRING "${text}" 0 ${end} piece)
    string(SUBSTRING "${text}" ${end} -1 text)
    string(APPEND literal "    R\"embedded(${piece})embedded\"\n")
  endwhile()
  set(${result} "${literal}" PARENT_SCOPE)
endfunction()
