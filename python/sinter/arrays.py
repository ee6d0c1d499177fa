"""Arrays of sinter from arrays of other libraries and from Python numbers."""

from __future__ import annotations

from typing import Any

from ._core import Array, Device, default_device, from_dlpack


def asarray(source: Any, device: Device | None = None) -> Array:
    """An Array with the elements of `source`, on `device` (None: the default device, or that of `source`).

    `source` is an array of any library with DLPack or `__cuda_array_interface__`, or anything that NumPy can
    convert, such as a list of numbers. The elements are copied only if they are on another device. Raises
    UserError if sinter lacks the dtype.
    """
    if isinstance(source, Array):
        return source if device is None or source.device == device else device.array(source)
    if not hasattr(source, "__dlpack__") and not hasattr(source, "__cuda_array_interface__"):
        import numpy

        return (device or default_device()).array(numpy.asarray(source))
    array = from_dlpack(source)
    return array if device is None or array.device == device else device.array(array)
