"""tensors — values between NumPy and the library: arrays into TF_Tensors and back.

Small arrays are copied; large ones that come back from a step own the library's memory until they are let go.
"""
import ctypes
import struct

import numpy as np

from . import _c, dtypes

_COPY_BELOW = 1 << 16       # bytes: below that a copy costs less than an owner
_STRING = 7
_BFLOAT16 = 14
_int64_arrays = [ctypes.c_int64 * n for n in range(16)]
_allocate, _data = _c.TF_AllocateTensor, _c.TF_TensorData
_type, _rank, _dim, _bytes = _c.TF_TensorType, _c.TF_NumDims, _c.TF_Dim, _c.TF_TensorByteSize
delete = _c.TF_DeleteTensor
_memmove = ctypes.memmove


_HEAD = object.__basicsize__    # an ndarray begins with an object's head, then the address of its elements
_pointer_at = ctypes.c_void_p.from_address
_probe = np.zeros(3)
_IS_AT_HEAD = _pointer_at(id(_probe) + _HEAD).value == _probe.ctypes.data


def address(array):
    """Where the elements of an array are; a fifth of the time that array.ctypes.data takes."""
    return _pointer_at(id(array) + _HEAD).value if _IS_AT_HEAD and type(array) is np.ndarray else array.ctypes.data


def dims_array(dims):
    n = len(dims)
    return (_int64_arrays[n] if n < 16 else ctypes.c_int64 * n)(*dims)


def new(array, number=None):
    """A TF_Tensor of an array's values, as `number` of the DataType enum. MemoryError."""
    if number is None:
        number = dtypes.as_dtype(array.dtype)._number
    if number == _STRING:
        return _new_strings(array)
    if number == _BFLOAT16:
        array = _to_bfloat16(array)
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array).reshape(array.shape)
    shape = array.shape
    size = array.nbytes
    pointer = _allocate(number, dims_array(shape), len(shape), size)
    if not pointer:
        raise MemoryError("no memory for a tensor of %d bytes" % size)
    if size:
        _memmove(_data(pointer), address(array), size)
    return pointer


def _to_bfloat16(array):
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(array), np.uint32(0x7FC0), rounded).astype(np.uint16).reshape(array.shape)


def _as_bytes(value):
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8")
    if isinstance(value, np.generic):
        return _as_bytes(value.item())
    raise TypeError("Expected binary or unicode string, got %r" % (value,))


def _new_strings(array):
    values = [_as_bytes(v) for v in array.ravel().tolist()] if array.dtype != object else \
        [_as_bytes(v) for v in array.ravel()]
    pointer = _allocate(_STRING, dims_array(array.shape), array.ndim, 24 * len(values))
    if not pointer:
        raise MemoryError("no memory for %d strings" % len(values))
    at = _data(pointer)
    small = b"".join([bytes([len(v) << 2]) + v.ljust(23, b"\0") if len(v) <= 22 else b"\0" * 24 for v in values])
    if small:
        _memmove(at, small, len(small))
    for i, value in enumerate(values):
        if len(value) > 22:
            _c.TF_StringCopy(at + 24 * i, value, len(value))
    return pointer


def _strings(pointer, count):
    at = _data(pointer)
    raw = ctypes.string_at(at, 24 * count)
    out = []
    for i in range(count):
        first = raw[24 * i]
        kind = first & 3
        if kind == 0:
            out.append(raw[24 * i + 1:24 * i + 1 + (first >> 2)])
        elif kind == 1:
            size, _, where = struct.unpack_from("<QQQ", raw, 24 * i)
            out.append(ctypes.string_at(where, size >> 2))
        else:
            item = at + 24 * i
            out.append(ctypes.string_at(_c.TF_StringGetDataPointer(item), _c.TF_StringGetSize(item)))
    return out


class _Owner:
    """Memory of a TF_Tensor as an array sees it; the tensor is deleted with the last array on it."""
    __slots__ = ("_pointer", "__array_interface__", "__weakref__")

    def __init__(self, pointer, shape, dtype):
        self._pointer = pointer
        self.__array_interface__ = {"shape": shape, "typestr": dtype.str, "data": (_data(pointer), False),
                                    "version": 3}

    def __del__(self):
        delete(self._pointer)


_numpy_types = {t._number: np.dtype(t._numpy) for t in dtypes._by_number.values()}


def take(pointer):
    """The array of a TF_Tensor, whose reference this takes. Scalars are NumPy scalars, strings bytes."""
    number = _type(pointer)
    rank = _rank(pointer)
    shape = tuple([_dim(pointer, i) for i in range(rank)])
    if number == _STRING:
        count = 1
        for d in shape:
            count *= d
        values = _strings(pointer, count)
        delete(pointer)
        if not rank:
            return values[0]
        array = np.empty(count, object)
        array[:] = values
        return array.reshape(shape)
    if number in (20, 21):
        size = _bytes(pointer)
        data = ctypes.string_at(_data(pointer), size) if size else b""
        delete(pointer)
        return np.frombuffer(data, np.uint8)
    dtype = _numpy_types[number]
    size = _bytes(pointer)
    if number == _BFLOAT16:
        bits = np.frombuffer(ctypes.string_at(_data(pointer), size), np.uint16).astype(np.uint32) << 16
        delete(pointer)
        array = bits.view(np.float32).reshape(shape)
        return array if rank else array[()]
    if size < _COPY_BELOW:
        array = np.empty(shape, dtype)
        if size:
            _memmove(address(array), _data(pointer), size)
        delete(pointer)
        return array if rank else array[()]
    return np.asarray(_Owner(pointer, shape, dtype))
