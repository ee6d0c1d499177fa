# For scripts that write text into C++ files.

# to_literal(<result> <text>): `text` as C++ string literals side by side. Literals have a guaranteed
# limit of 64 KiB and compilers less; pieces of whole lines, at most 8 KiB each, stay clear of both.
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
