# Run by cmake -P: copies the op table with one more row. The row comes last, so that the enum values
# of other ops do not change and code compiled with the real table stays valid. Arguments: TABLE, OUTPUT.
cmake_minimum_required(VERSION 3.25)

set(row [=[UNARY  (gudermannian, Float,    None,        Small,    "atan{f}(sinh{f}({a}))",     "",                              "",                      std::atan(std::sinh(a)), a,                         (g / cosh(a)),                                             8,   "Angle in (-pi/2, pi/2) whose tangent is sinh(a).")]=])

file(READ ${TABLE} table)
set(end "\n#undef UNARY\n")
string(FIND "${table}" "${end}" position)
if(position EQUAL -1)
  message(FATAL_ERROR "${TABLE}: no line `#undef UNARY`, before which the new row belongs")
endif()
string(REPLACE "${end}" "\n${row}${end}" table "${table}")
file(WRITE ${OUTPUT} "${table}")
