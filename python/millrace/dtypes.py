"""dtypes — the types of tensor elements: DType objects, their NumPy counterparts, and conversion from whatever names one."""
import builtins

import numpy as np

_ROWS = [  # name, number, NumPy type
    ("float32", 1, np.float32), ("float64", 2, np.float64), ("int32", 3, np.int32), ("uint8", 4, np.uint8),
    ("int16", 5, np.int16), ("int8", 6, np.int8), ("string", 7, np.object_), ("complex64", 8, np.complex64),
    ("int64", 9, np.int64), ("bool", 10, np.bool_), ("qint8", 11, np.int8), ("quint8", 12, np.uint8),
    ("qint32", 13, np.int32), ("bfloat16", 14, np.float32), ("qint16", 15, np.int16), ("quint16", 16, np.uint16),
    ("uint16", 17, np.uint16), ("complex128", 18, np.complex128), ("float16", 19, np.float16),
    ("resource", 20, np.object_), ("variant", 21, np.object_), ("uint32", 22, np.uint32), ("uint64", 23, np.uint64),
]
_FLOATS = {1, 2, 14, 19}
_INTEGERS = {3, 4, 5, 6, 9, 17, 22, 23}
_QUANTIZED = {11, 12, 13, 15, 16}
_C_NAMES = {1: "float", 2: "double", 19: "half"}


class DType:
    """The type of a tensor's elements, such as `millrace.float32`. Compares equal to NumPy's and to its name."""
    __slots__ = ("_number", "_name", "_numpy")

    def __init__(self, number, name=None, numpy=None):
        other = None if name else as_dtype(number)
        self._number = number if name else other._number
        self._name = name or other._name
        self._numpy = numpy or other._numpy

    name = property(lambda self: self._name)
    as_datatype_enum = property(lambda self: self._number)
    as_numpy_dtype = property(lambda self: self._numpy)
    _is_ref_dtype = property(lambda self: self._number > 100)
    base_dtype = property(lambda self: _by_number[self._number - 100] if self._number > 100 else self)
    _as_ref = property(lambda self: self if self._number > 100 else _by_number[self._number + 100])
    is_floating = property(lambda self: self._number % 100 in _FLOATS)
    is_integer = property(lambda self: self._number % 100 in _INTEGERS)
    is_quantized = property(lambda self: self._number % 100 in _QUANTIZED)
    is_complex = property(lambda self: self._number % 100 in (8, 18))
    is_bool = property(lambda self: self._number % 100 == 10)
    is_unsigned = property(lambda self: self._number % 100 in (4, 17, 22, 23))
    is_numpy_compatible = property(lambda self: self._number % 100 not in (20, 21))

    @property
    def real_dtype(self):
        """float32 of complex64, float64 of complex128, else the type itself."""
        return {8: float32, 18: float64}.get(self.base_dtype._number, self)

    @property
    def size(self):
        if self._number % 100 in (7, 20, 21):
            return 1
        return 2 if self._number % 100 == 14 else np.dtype(self._numpy).itemsize

    def _limits(self):
        if self.is_floating:
            return np.finfo(self._numpy)
        if self.is_integer or self.is_quantized:
            return np.iinfo(self._numpy)
        raise TypeError("Cannot find minimum value of %r." % self)

    @property
    def min(self):
        return False if self.is_bool else self._limits().min

    @property
    def max(self):
        return True if self.is_bool else self._limits().max

    @property
    def limits(self):
        if self.is_bool:
            return False, True
        if self.is_floating:
            return 0, 1
        return self.min, self.max

    def is_compatible_with(self, other):
        """Whether a tensor of `other` may stand where this type is wanted: equal but for being a reference."""
        return self._number % 100 == as_dtype(other)._number % 100

    def __eq__(self, other):
        if other is self:
            return True
        if other is None:
            return False
        try:
            return self._number == as_dtype(other)._number
        except TypeError:
            return False

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return self._number

    def __int__(self):
        return self._number

    def __str__(self):
        return "<dtype: %r>" % self._name

    def __repr__(self):
        return "tf." + self._name

    def __reduce__(self):
        return as_dtype, (self._name,)


_by_number = {}
for _name, _number, _numpy in _ROWS:
    for _add, _suffix in ((0, ""), (100, "_ref")):
        globals()[_name + _suffix] = _by_number[_number + _add] = DType(_number + _add, _name + _suffix, _numpy)
half, double = _by_number[19], _by_number[2]
_by_name = {t._name: t for t in _by_number.values()}
_by_name.update({"half": half, "float": _by_number[1], "double": double, "int": _by_number[3]})
_by_numpy = {np.dtype(t): _by_number[n] for _, n, t in reversed(_ROWS) if n not in (7, 11, 12, 13, 14, 15, 16, 20, 21)}
_by_numpy[np.dtype(object)] = _by_number[7]
_by_type = {float: _by_number[1], int: _by_number[3], builtins.bool: _by_number[10], complex: _by_number[18], str: _by_number[7],
            bytes: _by_number[7], object: _by_number[7]}
QUANTIZED_DTYPES = frozenset(_by_number[n] for n in _QUANTIZED)


def as_dtype(value):
    """The DType of a DType, a number of the DataType enum, a name, a NumPy type or a Python type. TypeError."""
    if isinstance(value, DType):
        return value
    if isinstance(value, int) and not isinstance(value, builtins.bool) and value in _by_number:
        return _by_number[value]
    if isinstance(value, str) and value in _by_name:
        return _by_name[value]
    if isinstance(value, type) and value in _by_type:
        return _by_type[value]
    if hasattr(value, "dtype") and isinstance(getattr(value, "dtype"), DType):
        return value.dtype
    try:
        key = np.dtype(value)
    except TypeError:
        key = None
    if key is not None:
        if key in _by_numpy:
            return _by_numpy[key]
        if key.kind in "SU":
            return _by_number[7]
    raise TypeError("Cannot convert value %r to a TensorFlow DType." % (value,))


def np_resource(value):
    raise TypeError("resource handles have no NumPy value")
