"""Writes the C++ sources that bind recording functions and report structs, from the public headers.

usage: generate.py ROOT OUT_DIR
"""

from __future__ import annotations

import keyword
import re
import sys
from pathlib import Path

from headers import Function, Parameter, Struct, elementwise_rows, functions, structs

HEADERS = {
    "ops": "ir/include/sinter/ops.h",
    "nn": "ir/include/sinter/nn.h",
    "views": "ir/include/sinter/views.h",
    "library_ops": "ir/include/sinter/library_ops.h",
    "collectives": "ir/include/sinter/collectives.h",
}
# Structs that Python reads. `struct.member` of these headers become properties.
REPORTS = ["report", "profile", "explain", "counters", "quantization"]
SKIPPED_STRUCTS = {"CalibrationOptions", "QuantizationOptions", "QuantizedGraph", "PrecomputedGraph", "ProfileOptions"}

# Free functions of a report that are methods in Python.
METHODS = {
    "Explanation": [("html", "explanation_html", "One self-contained HTML page."),
                    ("json", "explanation_json", "JSON with the schema explain.schema.json."),
                    ("add_profile", "add_profile", "Adds times of the same graph at the same sizes."),
                    ("add_tuning", "add_tuning", "Adds the tuning tables of a Report of the same graph.")],
    "Profile": [("table", "profile_table", "A text table: one line per kernel, and the sums."),
                ("json", "profile_json", "The profile as JSON.")],
    "Report": [("tuning_table", "tuning_table", "The tuning tables as text, one line per candidate.")],
    "Counters": [("json", "counters_json", "The counters as JSON.")],
}

ELEMENTWISE = {"unary": ["a"], "binary": ["a", "b"], "ternary": ["a", "b", "c"]}


def text(doc: str) -> str:
    return 'R"doc(' + doc + ')doc"'


def python_default(kind: str, default: str) -> str:
    """The default of a parameter, as an expression that makes a Python object."""
    if kind == "Axes":
        numbers = re.match(r"\{(.*)\}$", default).group(1)
        return f"nb::make_tuple({numbers})" if numbers else "nb::none()"
    if kind.startswith("std::optional") or (kind == "Tensor" and default == "{}"):
        return "nb::none()"
    if kind == "std::vector<std::int64_t>":
        return "nb::none()"
    if kind == "bool":
        return f"nb::bool_({default})"
    if kind == "Keep":
        return "nb::bool_(false)"
    if kind == "DType":
        return f"nb::borrow(dtype_object({default}))"
    if "::" in default:
        return 'nb::str("' + default.split("::")[-1] + '")'
    if kind == "double":
        return f"nb::float_({default})"
    return f"nb::int_({default})"


class Argument:
    """One Python argument of a bound function."""

    def __init__(self, parameter: Parameter):
        self.kind, self.name, self.default = parameter.type, parameter.name, parameter.default
        if self.kind == "Tensor" and self.default == "{}":
            self.declared = "std::optional<Tensor>"
        elif self.kind == "std::vector<std::int64_t>":
            self.declared = "Axes"
        elif self.kind == "RankGroup":
            self.declared = "const RankGroup&"
        elif self.kind == "Graph &" or self.kind == "Graph&":
            self.declared = "GraphObject&"
        elif self.kind == "std::vector<RankPair>":
            self.declared = "const std::vector<std::pair<int, int>>&"
        else:
            self.declared = self.kind
        if self.default == "{}" and self.kind == "Axes":
            self.default = "{}"

    @property
    def annotation(self) -> str:
        result = f'"{self.name}"_a'
        if self.default is not None:
            result += f" = {python_default(self.kind, self.default)}"
        if self.kind.startswith("std::optional") or self.declared.startswith("std::optional"):
            result = f'"{self.name}"_a.none() = nb::none()' if self.default is not None else f'"{self.name}"_a.none()'
        if self.kind in ("Axes", "std::vector<std::int64_t>"):
            result = result.replace("_a", "_a.none()", 1)
        return result


def all_fields(struct: Struct, known: dict[str, Struct]) -> list:
    inherited = [f for base in struct.bases for f in all_fields(known[base], known)]
    return inherited + struct.fields


def assigned(owner: str, argument: Argument) -> str:
    """The statement that sets a field of an options struct."""
    if argument.declared == "std::optional<Tensor>":
        return f"if ({argument.name}) {owner}.{argument.name} = *{argument.name};"
    if argument.kind == "std::vector<std::int64_t>":
        return f"{owner}.{argument.name}.assign({argument.name}.begin(), {argument.name}.end());"
    return f"{owner}.{argument.name} = {argument.name};"


def bind_function(function: Function, known: dict[str, Struct]) -> str:
    declared, annotations, statements, passed = [], [], [], []
    options_doc = []
    for parameter in function.parameters:
        if parameter.name == "file":
            statements.append("const Location location = current_location();")
            passed.append("location.file")
            continue
        if parameter.name == "line":
            passed.append("location.line")
            continue
        options = known.get(parameter.type)
        if options and parameter.type.endswith("Options"):
            annotations.append("nb::kw_only()")
            statements.append(f"{parameter.type} {parameter.name};")
            for member in all_fields(options, known):
                argument = Argument(Parameter(member.type, member.name, member.default))
                declared.append(f"{argument.declared} {argument.name}")
                annotations.append(argument.annotation)
                statements.append(assigned(parameter.name, argument))
                if member.doc:
                    options_doc.append(f"{member.name}: {member.doc}")
            passed.append(parameter.name)
            continue
        argument = Argument(parameter)
        declared.append(f"{argument.declared} {argument.name}")
        annotations.append(argument.annotation)
        if argument.kind == "std::vector<RankPair>":
            statements.append(f"std::vector<RankPair> {argument.name}_list;")
            statements.append(f"for (const auto& [from, to] : {argument.name}) {argument.name}_list.push_back({{from, to}});")
            passed.append(f"{argument.name}_list")
        else:
            passed.append(argument.name)
    result = known.get(function.result)
    doc = (function.doc or (result.doc if result else "")) + ("".join(f"\n\n{line}" for line in options_doc))
    body = " ".join([*statements, f"return sinter::{function.name}({', '.join(passed)});"])
    arguments = "".join(f", {annotation}" for annotation in annotations)
    return (
        f'  m.def("{function.name}", []({", ".join(declared)}) {{ {body} }}{arguments},\n'
        f"        {text(doc)});\n"
    )


def is_bound(function: Function, siblings: list[Function]) -> bool:
    """False for overloads that only differ in the type of a list."""
    kinds = [parameter.type for parameter in function.parameters]
    if any("initializer_list" in kind for kind in kinds):
        return False
    if any(kind == "std::span<const Tensor>" for kind in kinds):
        return False
    return function.name not in ("fail_empty_tensor",)


def write_functions(name: str, header: Path, known: dict[str, Struct]) -> str:
    found = functions(header)
    lines = [bind_function(function, known) for function in found if is_bound(function, found)]
    return HEAD.format(include="namedtuples.h") + f"void bind_{name}(nb::module_& m) {{\n" + "".join(lines) + "}\n" + TAIL


def write_elementwise(table: Path) -> str:
    lines = []
    for row in elementwise_rows(table):
        names = ", ".join(f'"{name}"_a' for name in ELEMENTWISE[row.kind])
        lines.append(f'  m.def("{row.name}", elementwise<{len(ELEMENTWISE[row.kind])}>(&sinter::{row.name}), {names}, {text(row.doc)});\n')
    return (
        HEAD.format(include="values/elementwise.h")
        + "void bind_elementwise(nb::module_& m) {\n" + "".join(lines) + "}\n" + TAIL
    )


def write_namedtuples(known: dict[str, Struct]) -> str:
    """Casters for results of several Tensors, which become named tuples."""
    tuples = [s for s in known.values() if s.fields and all(f.type == "Tensor" and f.default is None for f in s.fields)]
    casters = "".join(
        f"""
template <>
struct type_caster<sinter::{s.name}> {{
  NB_TYPE_CASTER(sinter::{s.name}, const_name("{s.name}"))
  static handle from_cpp(const sinter::{s.name}& result, rv_policy, cleanup_list*) noexcept {{
    return sinter::python::named_tuple("{s.name}", {", ".join(f"result.{f.name}" for f in s.fields)});
  }}
}};
"""
        for s in tuples
    )
    definitions = "".join(
        f'  define_named_tuple(m, "{s.name}", "{" ".join(f.name for f in s.fields)}", {text(s.doc)});\n' for s in tuples
    )
    return (
        "// Generated from the public headers by python/generate.\n#pragma once\n\n#include \"values/named_tuple.h\"\n\n"
        "namespace nanobind::detail {\n" + casters + "\n}  // namespace nanobind::detail\n\n"
        "namespace sinter::python {\n\ninline void bind_named_tuples(nb::module_& m) {\n" + definitions + "}\n\n}  // namespace sinter::python\n"
    )


def python_name(name: str) -> str:
    """The name in Python: that of C++, with an underscore after keywords of Python."""
    return name + "_" if keyword.iskeyword(name) else name


def write_reports(root: Path) -> str:
    lines = []
    for header in REPORTS:
        for struct in structs(root / f"runtime/include/sinter/{header}.h").values():
            if struct.name in SKIPPED_STRUCTS or not struct.fields:
                continue
            lines.append(f'  nb::class_<{struct.name}>(m, "{struct.name}", {text(struct.doc)})')
            for member in struct.fields:
                doc = f", {text(member.doc)}" if member.doc else ""
                lines.append(f'\n      .def_ro("{python_name(member.name)}", &{struct.name}::{member.name}{doc})')
            for method, function, doc in METHODS.get(struct.name, []):
                lines.append(f'\n      .def("{method}", &{function}, {text(doc)})')
            lines.append(f'\n      .def("__repr__", [](nb::handle self) {{ return describe(self, {{{", ".join(chr(34) + python_name(f.name) + chr(34) for f in struct.fields)}}}); }});\n')
    return HEAD.format(include="values/describe.h") + "void bind_reports(nb::module_& m) {\n" + "".join(lines) + "}\n" + TAIL


def write_options(root: Path) -> str:
    """Options and its parts, whose fields Python reads and writes."""
    known = structs(root / "runtime/include/sinter/options.h")
    lines = []
    for name in ("CacheOptions", "Options"):
        struct = known[name]
        lines.append(f'  nb::class_<{name}>(m, "{name}", {text(struct.doc)})\n      .def(nb::init<>())')
        for member in struct.fields:
            lines.append(f'\n      .def_rw("{member.name}", &{name}::{member.name}, {text(member.doc)})')
        names = ", ".join(f'"{member.name}"' for member in struct.fields)
        lines.append(f'\n      .def("__repr__", [](nb::handle self) {{ return describe(self, {{{names}}}); }});\n')
        lines.append(f'  m.attr("{name}").attr("fields") = nb::make_tuple({names});\n')
    return HEAD.format(include="values/describe.h") + "void bind_option_structs(nb::module_& m) {\n" + "".join(lines) + "}\n" + TAIL


HEAD = """// Generated from the public headers by python/generate.
#include "values/casters.h"
#include "{include}"
#include "sinter/sinter.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace sinter::python {{

using namespace nanobind::literals;

"""
TAIL = "\n}  // namespace sinter::python\n"


def write(path: Path, content: str) -> None:
    """Writes the file if its content changes, so that builds stay incremental."""
    if not path.exists() or path.read_text() != content:
        path.write_text(content)


def main() -> None:
    root, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    known: dict[str, Struct] = {}
    for path in HEADERS.values():
        known |= structs(root / path)
    write(out / "namedtuples.h", write_namedtuples(known))
    write(out / "elementwise.cpp", write_elementwise(root / "ir/include/sinter/ops.def"))
    for name, path in HEADERS.items():
        write(out / f"{name}.cpp", write_functions(name, root / path, known))
    write(out / "reports.cpp", write_reports(root))
    write(out / "options.cpp", write_options(root))


if __name__ == "__main__":
    main()
