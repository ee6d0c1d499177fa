"""Compares the .npy files that the command reads and writes with NumPy's.

Usage: python3 npy.py COMMAND FOLDER. Exits with 77 if NumPy is not installed.
"""

import pathlib
import subprocess
import sys

try:
    import numpy as np
except ImportError as error:
    print(f"there is no NumPy: {error}")
    sys.exit(77)

COMMAND = sys.argv[1]
FOLDER = pathlib.Path(sys.argv[2])

# NumPy's dtype for each dtype of the graph, and the dtype in files for those that NumPy lacks.
DTYPES = {
    "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "bf16": np.uint16, "f8e4m3": np.uint8, "f8e5m2": np.uint8,
}
RAW = {"bf16": "V2", "f8e4m3": "V1", "f8e5m2": "V1"}


def run(graph, *arguments):
    path = FOLDER / "graph.sinter"
    path.write_text(graph)
    words = [COMMAND, "run", str(path), "--device", "host", *arguments]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr


def transposed_by_the_command(dtype, arrays):
    """The results of a graph that transposes each of these arrays."""
    inputs, ops = [], ""
    for name in arrays:
        inputs.append(f"{name}: {dtype}[rows, columns]")
        ops += f"  {name}_turned = permute {name} {{axes = [1, 0]}}\n"
        np.save(FOLDER / f"{name}.npy", arrays[name])
    results = ", ".join(f"{name}_turned" for name in arrays)
    code, text = run(
        f"graph turn({', '.join(inputs)}) {{\n{ops}  return {results}\n}}\n",
        "--inputs", ",".join(f"{name}={FOLDER}/{name}.npy" for name in arrays),
        "--outputs", str(FOLDER / "out"))
    assert code == 0, text
    return {name: np.load(FOLDER / "out" / f"{name}_turned.npy") for name in arrays}


def check_dtypes():
    random = np.random.default_rng(1)
    for dtype, kind in DTYPES.items():
        bits = random.integers(0, 256, size=(3, 5 * np.dtype(kind).itemsize), dtype=np.uint8)
        if dtype in RAW:
            bits &= 0x3f  # no NaN, whose bits may change on the way
        x = bits.view(kind) if dtype != "bool" else bits > 127
        raw = x.view(RAW[dtype]) if dtype in RAW else x
        given = {"plain": raw, "fortran": np.asfortranarray(raw), "bits": x}
        for name, y in transposed_by_the_command(dtype, given).items():
            assert y.dtype == raw.dtype, (dtype, y.dtype)
            assert y.flags.c_contiguous and y.shape == (5, 3)
            same = y.tobytes() == np.ascontiguousarray(given[name].T).tobytes()
            is_float = np.issubdtype(x.dtype, np.floating)
            assert same or (is_float and np.array_equal(y, x.T, equal_nan=True)), (dtype, name)
    print(f"{len(DTYPES)} dtypes, in both orders")


def check_shapes_and_versions():
    empty = transposed_by_the_command("f32", {"x": np.zeros((0, 4), np.float32)})
    assert empty["x"].shape == (4, 0)
    x = np.arange(12, dtype=np.float32)
    graph = "graph twice(x: f32[n], s: f32) {\n  y = mul x, s\n  return y\n}\n"
    np.save(FOLDER / "s.npy", np.float32(2))
    for version in ((1, 0), (2, 0), (3, 0)):
        with open(FOLDER / "x.npy", "wb") as file:
            np.lib.format.write_array(file, x, version=version)
        code, text = run(graph, "--inputs", f"x={FOLDER}/x.npy,s={FOLDER}/s.npy",
                         "--outputs", str(FOLDER / "out"))
        assert code == 0, text
        assert np.array_equal(np.load(FOLDER / "out" / "y.npy"), 2 * x)
    print("versions 1.0 to 3.0")


def refuse(content, *parts):
    """The command must reject this file with a message that contains these parts."""
    (FOLDER / "x.npy").write_bytes(content)
    code, text = run("graph g(x: f32[4]) {\n  y = neg x\n  return y\n}\n",
                     "--inputs", f"x={FOLDER}/x.npy")
    assert code == 1 and text.startswith(f"sinter: {FOLDER}/x.npy: "), (content[:100], code, text)
    assert text.count("\n") == 1 and all(part in text for part in parts), (content[:100], text)


def head(dictionary, version=b"\x01\x00"):
    length = len(dictionary).to_bytes(2 if version[0] == 1 else 4, "little")
    return b"\x93NUMPY" + version + length + dictionary


def check_damaged():
    elements = np.arange(4, dtype="<f4").tobytes()
    good = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }\n"
    whole = head(good) + elements
    for end in (0, 5, 6, 7, 8, 9, 10, 30, len(whole) - 17, len(whole) - 16, len(whole) - 1):  # truncated
        refuse(whole[:end])
    refuse(whole + b"x", "takes 16 bytes, but 17 follow")
    refuse(b"\x89PNG\r\n" + whole, "does not begin with", "numpy.save")
    refuse(head(good, b"\x04\x00") + elements, "version 4.0", "1.0 to 3.0")
    refuse(b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + elements, "4294967295 bytes")
    refuse(b"\x93NUMPY\x02\x00\x00\x00\x01\x00" + b" " * 65536, "expected '{'")
    for dictionary, part in {
        b"": "expected '{'",
        b"{}": "no 'descr'",
        b"{'descr': '<f4', 'shape': (4,)}": "no 'fortran_order'",
        b"{'descr': '<f4', 'fortran_order': False}": "no 'shape'",
        b"{'descr': '<f4', 'fortran_order': 0, 'shape': (4,)}": "expected True or False",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (-4,)}": "expected an extent",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}":
            "expected an extent",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': 4}": "expected '('",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,": "expected an extent",
        b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,)}": "records",
        b"{'descr': '<f4', 'colour': 'red'}": "'colour' is not a key",
        b"{'descr': '\xff\xff', }": "a string is too long or not printable",
        b"{'descr': '<f4": "a string does not end",
        good + b"x": "something follows",
    }.items():
        refuse(head(dictionary) + elements, part, "its header is invalid")
    huge = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }"
    refuse(head(huge % b"4611686018427387904, 4611686018427387904") + elements, "more than 2^63")
    refuse(head(huge % b"4611686018427387904, 4611686018427387904, 0") + elements, "more than 2^63")
    refuse(head(huge % b"1099511627776,") + elements, "takes 4398046511104 bytes, but 16 follow")
    refuse(head(huge % (b"1, " * 17)) + elements, "17 axes", "at most 16")
    for wrong in (">f4", "<f8", "<i4", "|O", "<U1", "|V4"):
        refuse(head(good.replace(b"<f4", wrong.encode())) + elements,
               f"its elements are '{wrong}', but the graph expects f32: '<f4'")
    (FOLDER / "x.npy").write_bytes(
        head(b"{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }") + b"\x01\x07")
    code, text = run("graph g(x: bool[2]) {\n  y = logical_not x\n  return y\n}\n",
                     "--inputs", f"x={FOLDER}/x.npy")
    assert code == 1 and "element 1 of its bools is the byte 7" in text, text
    print("damaged files")


check_dtypes()
check_shapes_and_versions()
check_damaged()
