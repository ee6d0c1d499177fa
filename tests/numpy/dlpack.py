"""Exchanges Arrays with NumPy in both directions, through DLPack capsules made with ctypes.

Usage: dlpack.py MODULE. Exits with 77 if no NumPy with DLPack is installed.
"""
import ctypes
import gc
import sys

try:
    import numpy as np
except ImportError:
    print(f"{sys.executable} has no NumPy")
    sys.exit(77)
NUMPY = tuple(int(part) for part in np.__version__.split(".")[:2])
if NUMPY < (1, 22):
    print(f"NumPy {np.__version__} has no from_dlpack")
    sys.exit(77)
# The versioned struct, read-only flags and __dlpack__(copy=...) came with NumPy 2.1.
KNOWS_VERSIONS = NUMPY >= (2, 1)

lib = ctypes.CDLL(sys.argv[1])
pointer, number, flag, text = ctypes.c_void_p, ctypes.c_int64, ctypes.c_bool, ctypes.c_char_p
for name, result, arguments in [
    ("last_error", text, []),
    ("live_bytes", ctypes.c_uint64, []),
    ("array_empty", pointer, [text, ctypes.c_int, pointer]),
    ("array_view", pointer, [pointer, number, ctypes.c_int, pointer, pointer]),
    ("array_read_only", pointer, [pointer]),
    ("array_free", None, [pointer]),
    ("array_is_read_only", flag, [pointer]),
    ("array_dtype", text, [pointer]),
    ("array_upload", flag, [pointer, pointer]),
    ("array_download", flag, [pointer, pointer]),
    ("run_doubling", flag, [pointer, pointer]),
    ("export_array", pointer, [pointer, flag]),
    ("import_tensor", pointer, [pointer, flag]),
]:
    getattr(lib, name).restype = result
    getattr(lib, name).argtypes = arguments

capsules = ctypes.pythonapi
capsules.PyCapsule_New.restype = ctypes.py_object
capsules.PyCapsule_New.argtypes = [pointer, text, pointer]
capsules.PyCapsule_IsValid.argtypes = [ctypes.py_object, text]
capsules.PyCapsule_GetPointer.restype = pointer
capsules.PyCapsule_GetPointer.argtypes = [ctypes.py_object, text]
capsules.PyCapsule_SetName.argtypes = [ctypes.py_object, text]
# Capsules do not copy their name, so the names must outlive them.
PLAIN, VERSIONED = b"dltensor", b"dltensor_versioned"
USED = {PLAIN: b"used_dltensor", VERSIONED: b"used_dltensor_versioned"}
RELEASE = ctypes.cast(lib.release_capsule, pointer)

DTYPES = {
    "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "c64": np.complex64,
}  # fmt: skip
if NUMPY < (1, 25):
    del DTYPES["bool"]  # NumPy exchanges bool from 1.25 on


class SinterError(Exception):
    pass


def run_doubling(x, y):
    ensured(lib.run_doubling(x.handle, y.handle))


def ensured(result):
    if not result:
        raise SinterError(lib.last_error().decode())
    return result


def sizes(values):
    return (number * len(values))(*values)


class Array:
    """A sinter Array that produces capsules."""

    def __init__(self, handle):
        self.handle = ensured(handle)

    @staticmethod
    def empty(dtype, shape):
        return Array(lib.array_empty(dtype.encode(), len(shape), sizes(shape)))

    @staticmethod
    def of(dtype, values):
        array = Array.empty(dtype, values.shape)
        ensured(lib.array_upload(array.handle, np.ascontiguousarray(values).ctypes.data))
        return array

    def view(self, byte_offset, shape, strides):
        return Array(
            lib.array_view(self.handle, byte_offset, len(shape), sizes(shape), sizes(strides))
        )

    def read_only(self):
        return Array(lib.array_read_only(self.handle))

    def values(self, like):
        result = np.empty(like.shape, like.dtype)
        ensured(lib.array_download(self.handle, result.ctypes.data))
        return result

    def __del__(self):
        if hasattr(self, "handle"):
            lib.array_free(self.handle)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, max_version=None, **rest):
        is_versioned = max_version is not None and max_version[0] >= 1
        tensor = ensured(lib.export_array(self.handle, is_versioned))
        return capsules.PyCapsule_New(tensor, VERSIONED if is_versioned else PLAIN, RELEASE)


class Plain:
    """An Array that offers only the unversioned capsule."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **rest):
        return self.array.__dlpack__()


def take(values, is_versioned=False):
    """Imports a NumPy array as a sinter Array."""
    capsule = values.__dlpack__(max_version=(1, 1)) if is_versioned else values.__dlpack__()
    name = VERSIONED if is_versioned else PLAIN
    assert capsules.PyCapsule_IsValid(capsule, name), capsule
    tensor = capsules.PyCapsule_GetPointer(capsule, name)
    assert capsules.PyCapsule_SetName(capsule, USED[name]) == 0
    return Array(lib.import_tensor(tensor, is_versioned))


def refusal(call):
    try:
        call()
    except SinterError as error:
        return str(error)
    return "(nothing raised)"


def samples(dtype, shape=(3, 4)):
    values = np.arange(np.prod(shape)).reshape(shape)
    return (values % 2 if dtype == "bool" else values).astype(DTYPES[dtype])


FORMS = [Plain, lambda array: array] if KNOWS_VERSIONS else [Plain]
VERSIONS = [False, True] if KNOWS_VERSIONS else [False]


def check_exports_every_dtype():
    for dtype in DTYPES:
        for form in FORMS:
            values = samples(dtype)
            seen = np.from_dlpack(form(Array.of(dtype, values)))
            assert seen.dtype == values.dtype, (dtype, seen.dtype)
            assert (seen == values).all(), (dtype, seen)


def check_imports_every_dtype():
    for dtype in DTYPES:
        for is_versioned in VERSIONS:
            values = samples(dtype)
            array = take(values, is_versioned)
            assert lib.array_dtype(array.handle).decode() == dtype
            assert (array.values(values) == values).all(), dtype


def check_exports_views():
    values = samples("f32", (4, 6))
    array = Array.of("f32", values)
    for form in FORMS:
        assert (np.from_dlpack(form(array.view(0, (6, 4), (1, 6)))) == values.T).all()
        assert (np.from_dlpack(form(array.view(28, (3, 2), (6, 3)))) == values[1:, 1::3]).all()


def check_imports_views():
    values = samples("f32", (4, 6))
    for is_versioned in VERSIONS:
        for view in [values.T, values[1:, 1::3], values[2], values[:, 3], values[:1, ::-1][:, :1]]:
            assert (take(view, is_versioned).values(view) == view).all(), view
        wide = np.broadcast_to(values[0], (3, 6))
        if is_versioned:  # NumPy calls it read-only
            assert (take(wide, is_versioned).values(wide) == wide).all()


def check_scalars_and_empty_arrays():
    for shape in [(), (0,), (3, 0), (1, 1)]:
        values = samples("f64", shape)
        for form in FORMS:
            seen = np.from_dlpack(form(Array.of("f64", values)))
            assert seen.shape == shape and (seen == values).all(), seen
        for is_versioned in VERSIONS:
            assert (take(values, is_versioned).values(values) == values).all()


def check_numpy_keeps_sinter_memory_alive():
    before = lib.live_bytes()
    for form in FORMS:
        array = Array.of("f32", samples("f32"))
        seen = np.from_dlpack(form(array))[1:]
        del array
        gc.collect()
        assert lib.live_bytes() == before + 48
        assert (seen == samples("f32")[1:]).all()
        del seen
        gc.collect()
        assert lib.live_bytes() == before


def check_unused_capsules_release_memory():
    before = lib.live_bytes()
    for version in [None, (1, 0)]:
        array = Array.empty("f32", (100,))
        capsule = array.__dlpack__(max_version=version)
        del array
        assert lib.live_bytes() == before + 400
        del capsule
        assert lib.live_bytes() == before


def check_sinter_keeps_numpy_memory_alive():
    for is_versioned in VERSIONS:
        values = samples("f32")
        before = sys.getrefcount(values)
        array = take(values, is_versioned)
        view = array.view(4, (2,), (1,))
        assert sys.getrefcount(values) == before + 1
        del array
        assert sys.getrefcount(values) == before + 1
        del view
        assert sys.getrefcount(values) == before


def check_kernels_access_numpy_memory():
    for is_versioned in VERSIONS:
        x, y = samples("f32", (1000,)), np.zeros(1000, np.float32)
        run_doubling(take(x, is_versioned), take(y, is_versioned))
        assert (y == 2 * x).all(), y


def check_numpy_sees_kernel_results():
    x, y = Array.of("f32", samples("f32", (1000,))), Array.empty("f32", (1000,))
    seen = np.from_dlpack(y)
    run_doubling(x, y)
    assert (seen == 2 * samples("f32", (1000,))).all(), seen


def check_import_errors():
    values = samples("f32", (4, 6))
    before = sys.getrefcount(values)
    for is_versioned in VERSIONS:
        message = refusal(lambda: take(values[:, ::-1], is_versioned))
        assert message.startswith("from_dlpack: f32[4, 6] has strides [6, -1]"), message
        message = refusal(lambda: take(values.astype(np.complex128), is_versioned))
        assert "complex with 128 bits have no sinter dtype" in message, message
    gc.collect()
    assert sys.getrefcount(values) == before


def check_numpy_rejects_unknown_dtypes():
    before = lib.live_bytes()
    for dtype in ["bf16", "f8e4m3", "f8e5m2"]:
        for form in FORMS:
            try:
                np.from_dlpack(form(Array.empty(dtype, (4,))))
            except (BufferError, RuntimeError):
                continue
            raise AssertionError(f"NumPy takes {dtype}")
    gc.collect()
    assert lib.live_bytes() == before


def check_exports_read_only():
    array = Array.of("f32", samples("f32")).read_only()
    message = refusal(array.__dlpack__)
    assert message.startswith("to_dlpack_unversioned: f32[3, 4] is read-only"), message
    if KNOWS_VERSIONS:
        assert not np.from_dlpack(array).flags.writeable
        assert np.from_dlpack(Array.of("f32", samples("f32"))).flags.writeable


def check_imports_read_only():
    values = samples("f32", (8,))
    values.flags.writeable = False
    try:
        values.__dlpack__()
    except BufferError:
        pass
    else:
        assert NUMPY < (1, 23), "NumPy exports read-only memory as writable"
    if not KNOWS_VERSIONS:
        return
    array = take(values, is_versioned=True)
    assert lib.array_is_read_only(array.handle)
    y = Array.empty("f32", (8,))
    run_doubling(array, y)
    message = refusal(lambda: run_doubling(y, array))
    assert "output y is written but bound to f32[8], which is read-only" in message, message
    copied = Array(lib.import_tensor(*copy_of(values)))
    assert not lib.array_is_read_only(copied.handle)


def copy_of(values):
    capsule = values.__dlpack__(max_version=(1, 1), copy=True)
    tensor = capsules.PyCapsule_GetPointer(capsule, VERSIONED)
    assert capsules.PyCapsule_SetName(capsule, USED[VERSIONED]) == 0
    return tensor, True


checks = [check for name, check in list(globals().items()) if name.startswith("check_")]
for check in checks:
    check()
print(f"{len(checks)} checks with NumPy {np.__version__}, {len(VERSIONS)} structs")
