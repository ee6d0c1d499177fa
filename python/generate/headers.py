"""Reads declarations and their comments from the public headers, and the rows of the op table."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Parameter:
    type: str
    name: str
    default: str | None = None


@dataclass
class Function:
    result: str
    name: str
    parameters: list[Parameter]
    doc: str


@dataclass
class Field:
    type: str
    name: str
    default: str | None
    doc: str


@dataclass
class Struct:
    name: str
    fields: list[Field]
    doc: str
    bases: list[str] = field(default_factory=list)


def split_top(text: str, separator: str = ",") -> list[str]:
    """Splits at separators outside of brackets and literals."""
    parts, depth, start = [], 0, 0
    quoted = False
    for i, c in enumerate(text):
        if c == '"' and text[i - 1] != "\\":
            quoted = not quoted
        elif quoted:
            continue
        elif c in "(<[{":
            depth += 1
        elif c in ")>]}":
            depth -= 1
        elif c == separator and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def parse_parameter(text: str) -> Parameter:
    default = None
    pieces = re.match(r"(.*?)\s*=\s*(.*)$", text, re.S)
    if pieces:
        text, default = pieces.group(1), pieces.group(2).strip()
    match = re.match(r"(.*[\s&*])(\w+)$", text.strip(), re.S)
    if not match:
        raise ValueError(f"cannot read the parameter `{text}`")
    kind = re.sub(r"\s+", " ", match.group(1)).strip()
    kind = re.sub(r"^const (\w+) ?&$", r"\1", kind)
    return Parameter(kind, match.group(2), default)


def _comment(lines: list[str], end: int) -> str:
    """The `///` comment above line `end`."""
    first = end
    while first > 0 and lines[first - 1].strip().startswith("///"):
        first -= 1
    text = "\n".join(line.strip()[3:].strip() for line in lines[first:end])
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)


def _strip_comments(text: str) -> str:
    return re.sub(r"//[^\n]*", "", text)


def functions(header: Path) -> list[Function]:
    """The functions at namespace level, without templates, operators and inline functions."""
    lines = header.read_text().split("\n")
    found = []
    i = 0
    inherited = ""
    while i < len(lines):
        line = lines[i]
        match = re.match(r"([\w:<>]+(?: [\w:<>]+)*)[ &*]+(\w+)\(", line)
        skipped = line.startswith(("inline", "template", "#", "//", "}", "using", "constexpr", "[["))
        if not match or skipped or (i > 0 and lines[i - 1].startswith("template")):
            i += 1
            continue
        begin, text = i, line
        while not _strip_comments(text).rstrip().endswith(";"):
            i += 1
            text += "\n" + lines[i]
        i += 1
        text = re.sub(r"\s+", " ", _strip_comments(text)).strip().rstrip(";")
        name = match.group(2)
        inner = text[text.index("(") + 1 : text.rindex(")")]
        parameters = [parse_parameter(part) for part in split_top(inner)]
        doc = _comment(lines, begin)
        # An overload without a comment shares that of the overload above it.
        doc = doc or (inherited if found and found[-1].name == name else "")
        inherited = doc
        found.append(Function(match.group(1), name, parameters, doc))
    return found


def structs(header: Path) -> dict[str, Struct]:
    """The structs with public fields, by name."""
    lines = header.read_text().split("\n")
    result: dict[str, Struct] = {}
    i = 0
    while i < len(lines):
        match = re.match(r"struct (\w+)(?: : (\w+))? \{$", lines[i])
        if not match:
            i += 1
            continue
        struct = Struct(match.group(1), [], _comment(lines, i), [match.group(2)] if match.group(2) else [])
        i += 1
        while not lines[i].startswith("};"):
            i = _read_field(lines, i, struct)
        result[struct.name] = struct
    return result


def _read_field(lines: list[str], i: int, struct: Struct) -> int:
    """Reads the field that begins in line `i`, if one does. Returns the line after it."""
    line = lines[i]
    if not re.match(r"  [\w:]", line) or re.match(r"  (enum|struct|friend|template|using)\b", line):
        if re.match(r"  (struct|enum class) .*\{$", line):
            while lines[i].strip() not in ("};",):
                i += 1
        return i + 1
    begin, text = i, line
    while not _strip_comments(text).rstrip().endswith((";", "{", "}")) and i + 1 < len(lines):
        i += 1
        text += "\n" + lines[i]
    i += 1
    declaration = re.sub(r"\s+", " ", _strip_comments(text)).strip().rstrip(";")
    if "(" in declaration.split("=")[0] and not declaration.startswith("std::function"):
        return i
    doc = _comment(lines, begin)
    trailing = re.search(r"///< ?(.*)", text)
    if trailing:
        more = [trailing.group(1)]
        while i < len(lines) and re.match(r"\s+///<", lines[i]):
            more.append(lines[i].split("///<", 1)[1].strip())
            i += 1
        doc = " ".join(more)
    parameter = parse_parameter(declaration)
    struct.fields.append(Field(parameter.type, parameter.name, parameter.default, doc))
    return i


@dataclass
class Row:
    kind: str
    name: str
    doc: str


def elementwise_rows(op_table: Path) -> list[Row]:
    """The elementwise rows of the op table."""
    rows = []
    for line in op_table.read_text().split("\n"):
        match = re.match(r"(UNARY|BINARY|TERNARY) *\((.*)\)\s*$", line)
        if not match or "..." in line:
            continue
        columns = split_top(match.group(2))
        rows.append(Row(match.group(1).lower(), columns[0], columns[-1].strip('"')))
    return rows
