"""Arrays that share memory with NumPy, and objects with DLPack: lifetimes, read-only memory, refusals."""

import gc
import weakref

import numpy as np
import pytest

import sinter

HOST = sinter.host_device()
DTYPES = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_memory_is_shared_both_ways(dtype):
    source = np.arange(6).reshape(2, 3).astype(dtype)
    array = sinter.from_dlpack(source)
    assert array.shape == (2, 3) and array.strides == (3, 1) and array.pointer == source.ctypes.data
    back = np.from_dlpack(array)
    assert back.dtype == source.dtype and back.ctypes.data == source.ctypes.data
    np.testing.assert_array_equal(np.asarray(array), source)
    assert sinter.dtype(source.dtype) is array.dtype


def test_strided_memory_is_shared():
    source = np.arange(24, dtype=np.float32).reshape(4, 6)[:, ::2].T
    array = sinter.from_dlpack(source)
    assert array.shape == (3, 4) and array.strides == (2, 6)
    np.testing.assert_array_equal(array.numpy(), source)


def test_read_only_memory_stays_so():
    source = np.arange(4, dtype=np.float32)
    source.flags.writeable = False
    array = sinter.from_dlpack(source)
    assert array.is_read_only and not np.from_dlpack(array).flags.writeable
    graph = sinter.Graph("g")
    x = graph.input("x", "f32", 4)
    graph.update(x, x + 1)
    graph.output("y", x)
    with pytest.raises(sinter.UserError, match="read-only"):
        sinter.compile(graph, HOST, tune="off", optimize_host=False)(x=source)
    with pytest.raises(BufferError, match="max_version"):
        array.__dlpack__()
    assert source.tolist() == [0, 1, 2, 3]


class Owner(np.ndarray):
    """An array that weak references see."""


def test_an_array_keeps_its_owner_alive_and_releases_it():
    source = np.arange(4, dtype=np.float32).view(Owner)
    alive = weakref.ref(source)
    array = sinter.from_dlpack(source)
    part = array.view(4, "f32", 2)
    del source, array
    gc.collect()
    assert part.numpy().tolist() == [1, 2]
    del part
    gc.collect()
    assert alive() is None


def test_memory_of_sinter_outlives_its_array():
    array = HOST.array(np.arange(4, dtype=np.float32))
    shared = np.from_dlpack(array)
    del array
    gc.collect()
    HOST.trim()
    assert shared.tolist() == [0, 1, 2, 3]


def test_unused_capsules_release_their_array():
    source = np.arange(4, dtype=np.float32).view(Owner)
    alive = weakref.ref(source)
    capsule = sinter.from_dlpack(source).__dlpack__(max_version=(1, 1))
    del source
    gc.collect()
    assert alive() is not None
    del capsule
    gc.collect()
    assert alive() is None


def test_capsules_are_used_once():
    capsule = sinter.from_dlpack(np.ones(3, np.float32)).__dlpack__(max_version=(1, 1))
    assert sinter.from_dlpack(capsule).numpy().tolist() == [1, 1, 1]
    with pytest.raises(sinter.UserError, match="was used before"):
        sinter.from_dlpack(capsule)


def test_the_protocol_refuses_copies_and_other_devices():
    array = sinter.from_dlpack(np.ones(3, np.float32))
    assert array.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="does not copy"):
        array.__dlpack__(copy=True)
    with pytest.raises(BufferError, match="another device"):
        array.__dlpack__(dl_device=(2, 0))
    with pytest.raises(AttributeError, match="host memory"):
        array.__cuda_array_interface__


def test_unsupported_memory_is_refused():
    with pytest.raises(sinter.UserError, match=r"test_sharing.py:\d+: str is no array"):
        sinter.from_dlpack("text")
    with pytest.raises(sinter.UserError, match="negative|strides"):
        sinter.from_dlpack(np.arange(4, dtype=np.float32)[::-1])
    with pytest.raises(sinter.UserError, match="complex.* 128 bits"):
        sinter.from_dlpack(np.ones(2, np.complex128))


class OldProducer:
    """A library that knows DLPack before version 1.0 only."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, *, stream=None):
        return self.array.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_old_producers_are_read():
    source = np.arange(3, dtype=np.int16)
    assert sinter.from_dlpack(OldProducer(source)).pointer == source.ctypes.data


class FailingProducer(OldProducer):
    def __dlpack__(self, **_):
        raise RuntimeError("the producer failed")


def test_errors_of_producers_reach_the_caller():
    with pytest.raises(RuntimeError, match="the producer failed"):
        sinter.from_dlpack(FailingProducer(np.ones(1)))


def test_asarray_takes_lists_and_arrays():
    assert sinter.asarray([[1.0, 2.0]], HOST).numpy().tolist() == [[1, 2]]
    source = np.ones(3, np.float32)
    assert sinter.asarray(source).pointer == source.ctypes.data
    array = HOST.empty("bf16", (2, 3))
    assert sinter.asarray(array) is array and array.nbytes == 12 and repr(array).startswith("<sinter.Array bf16(2, 3)")


def test_streams():
    stream = HOST.stream()
    graph = sinter.Graph("g")
    graph.output("y", graph.input("x", "f32", 4) * 2)
    context = sinter.compile(graph, HOST, tune="off", optimize_host=False).context()
    y = np.empty(4, np.float32)
    context.run({"x": np.ones(4, np.float32)}, {"y": y}, stream)
    event = HOST.event()
    event.record(stream)
    stream.synchronize()
    assert event.is_done and (y == 2).all()
    assert stream.__cuda_stream__() == (0, stream.handle)
    with pytest.raises(sinter.UserError, match=r"test_sharing.py:\d+: str is no stream"):
        context.run({"x": np.ones(4, np.float32)}, {"y": y}, "stream")


class GpuArray:
    """An array of a library that has only the older protocol of GPU memory."""

    __cuda_array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (4096, False), "version": 3, "strides": None}


def test_gpu_memory_without_a_gpu_is_refused():
    if not sinter.default_device().is_host:
        pytest.skip("there is a GPU")
    with pytest.raises(sinter.DriverError, match="CUDA"):
        sinter.from_dlpack(GpuArray())
