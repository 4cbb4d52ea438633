"""tensor — EagerTensor: a tensor that has its value; operators on it, and how it becomes an array and back."""
import numpy as np

from .. import _c, dtypes, graph as graphs, math_ops, tensors  # noqa: F401  (operators stand from the beginning)
from ..graph import Tensor
from ..tensor_shape import EagerShape, TensorShape

_default_graphs = graphs._default_graphs
_delete = _c.TFE_DeleteTensorHandle
_one = _c.mr_call_one
_new_handle = _c.TFE_NewTensorHandle
_SMALL = 1 << 12       # most constants kept for operators with Python numbers


class EagerTensor(Tensor):
    """A tensor with a value: `numpy()` gives it. Operators make tensors, `==` compares element by element.

    >>> import millrace as tf
    >>> (tf.constant([1.0, 2.0]) * 2).numpy()
    array([2., 4.], dtype=float32)
    """
    __slots__ = ("_handle", "_known_shape")

    def __init__(self, *args, **kwargs):
        raise TypeError("eager tensors are made by tf.constant, tf.convert_to_tensor and by ops")

    def __del__(self):
        try:
            _delete(self._handle)
        except Exception:  # the interpreter is going
            pass

    def __getattr__(self, name):
        if name in ("op", "graph", "value_index", "_op"):
            raise AttributeError("Tensor.%s is undefined when eager execution is enabled." % name)
        return Tensor.__getattr__(self, name)

    graph = property(lambda self: self.__getattr__("graph"))
    _op = property(lambda self: self.__getattr__("_op"))
    device = property(lambda self: "/job:localhost/replica:0/task:0/device:CPU:0")
    backing_device = device
    is_eager = True

    @property
    def name(self):
        raise AttributeError("Tensor.name is undefined when eager execution is enabled.")

    @property
    def shape(self):
        """A TensorShape whose items are ints."""
        shape = self._known_shape
        if shape is None:
            shape = self._known_shape = EagerShape(self._dims())
        return shape

    _shape = shape

    def _dims(self):
        handle = self._handle
        with _c.Status() as status:
            return [_c.TFE_TensorHandleDim(handle, i, status) for i in range(_c.TFE_TensorHandleNumDims(handle, status))]

    @property
    def ndim(self):
        with _c.Status() as status:
            return _c.TFE_TensorHandleNumDims(self._handle, status)

    def get_shape(self):
        return self.shape

    def set_shape(self, shape):
        if not self.shape.is_compatible_with(shape):
            raise ValueError("Tensor's shape %s is not compatible with supplied shape %s." % (self.shape, TensorShape(shape)))

    def numpy(self):
        """The value as an array, or as a NumPy scalar; strings are bytes. Large arrays share the tensor's memory and are
        read-only."""
        with _c.Status() as status:
            pointer = _c.TFE_TensorHandleResolve(self._handle, status)
        array = tensors.take(pointer)
        if isinstance(array, np.ndarray) and array.base is not None and array.flags.writeable:
            array.flags.writeable = False
        return array

    _numpy = numpy

    def eval(self, feed_dict=None, session=None):
        return self.numpy()

    def ref(self):
        """What stands for the tensor as a key: `deref()` gives it back."""
        return Reference(self)

    experimental_ref = ref

    def consumers(self):
        raise NotImplementedError("consumers() is not there where ops run as they are called")

    def cpu(self):
        return self

    gpu = cpu

    def __array__(self, dtype=None, copy=None):
        array = np.asarray(self.numpy())
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def _scalar(self, kind):
        value = self.numpy()
        if isinstance(value, np.ndarray):
            if value.size != 1:
                raise TypeError("only a tensor of one element becomes %s, not one of shape %s" % (kind, self.shape))
            value = value.ravel()[0]
        return value

    def __float__(self):
        return float(self._scalar("a float"))

    def __int__(self):
        return int(self._scalar("an int"))

    def __complex__(self):
        return complex(self._scalar("a complex number"))

    def __index__(self):
        if not self._dtype.is_integer or self.shape.ndims:
            raise TypeError("only integer scalar tensors can be converted to a scalar index")
        return int(self.numpy())

    def __bool__(self):
        value = np.asarray(self.numpy())
        if value.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")
        return bool(value.ravel()[0])

    __nonzero__ = __bool__

    def __len__(self):
        shape = self.shape
        if not shape.ndims:
            raise TypeError("Scalar tensor has no `len()`")
        return shape[0]

    def __iter__(self):
        shape = self.shape
        if not shape.ndims:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (self[i] for i in range(shape[0]))

    def __hash__(self):
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    def __eq__(self, other):
        return compared("Equal", self, other, False)

    def __ne__(self, other):
        return compared("NotEqual", self, other, True)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return from_array(np.array(self.numpy(), copy=True), self._dtype)

    def __reduce__(self):
        return _from_pickle, (np.asarray(self.numpy()), self._dtype)

    def __format__(self, spec):
        return format(self.numpy() if not self.shape.ndims else str(self), spec)

    def __str__(self):
        return "tf.Tensor(%s, shape=%s, dtype=%s)" % (self._text(), self.shape, self._dtype.name)

    def __repr__(self):
        return "<tf.Tensor: shape=%s, dtype=%s, numpy=%s>" % (self.shape, self._dtype.name, self._text(repr))

    def _text(self, write=str):
        if self._dtype._number in (20, 21):
            return "<unprintable>"
        value = self.numpy()
        return write(value) if isinstance(value, (np.ndarray, bytes)) else str(value)

    # ---- other programs' arrays

    def __dlpack__(self, stream=None, **ignored):
        return np.asarray(self.numpy()).__dlpack__()

    def __dlpack_device__(self):
        return 1, 0


class Reference:
    """A tensor or variable as a key: equal where it is the same object."""
    __slots__ = ("_referenced",)

    def __init__(self, referenced):
        self._referenced = referenced

    def deref(self):
        return self._referenced

    def __eq__(self, other):
        return isinstance(other, Reference) and self._referenced is other._referenced

    def __hash__(self):
        return id(self._referenced)

    def __repr__(self):
        return "<Reference wrapping %r>" % (self._referenced,)


_make = EagerTensor.__new__


def tensor_of(handle, dtype):
    """The tensor that owns a TFE_TensorHandle."""
    tensor = _make(EagerTensor)
    tensor._handle = handle
    tensor._dtype = dtype
    tensor._known_shape = tensor._attrs = None
    return tensor


def from_array(array, dtype=None):
    """A tensor with a copy of an array's values."""
    dtype = dtype or dtypes.as_dtype(array.dtype)
    pointer = tensors.new(array, dtype._number)
    try:
        with _c.Status() as status:
            handle = _new_handle(pointer, status)
    finally:
        tensors.delete(pointer)
    return tensor_of(handle, dtype)


def _from_pickle(array, dtype):
    return from_array(array, dtype)


def from_dlpack(capsule):
    """A tensor with the values of an array of another library: of an object with __dlpack__, or of a capsule."""
    if not hasattr(capsule, "__dlpack__"):
        capsule = _Capsule(capsule)
    return from_array(np.from_dlpack(capsule))


class _Capsule:
    def __init__(self, capsule):
        self._capsule = capsule

    def __dlpack__(self, **ignored):
        return self._capsule

    def __dlpack_device__(self):
        return 1, 0


def to_dlpack(tensor):
    return tensor.__dlpack__()


# ---------------------------------------- operators

_numbers = {}          # (value, its type, number of the DataType) -> tensor
_binary_calls = {}     # (op, number of the DataType) -> (pointer of its call, dtype of its result)
_FLOATS, _NUMBERS = {1, 2, 14, 19}, {1, 2, 3, 9, 14, 19}


def _number(value, dtype):
    """The tensor of a Python number as an operand beside a tensor of that dtype; None where it is none or does not fit."""
    kind = type(value)
    if kind is float:
        if dtype._number not in _FLOATS:
            return None
    elif kind is not int or dtype._number not in _NUMBERS:
        return None
    key = value, kind, dtype._number
    found = _numbers.get(key)
    if found is None or value == 0:      # 0.0 and -0.0 are one key
        from ..convert import convert_to_tensor
        found = convert_to_tensor(value, dtype)
        if len(_numbers) >= _SMALL:
            _numbers.clear()
        _numbers[key] = found
    return found


def _binary(op, method, numbers, swapped=False):
    """An operator: the shortest way for two tensors of one type while nothing is recorded and no graph is built."""
    slow = getattr(Tensor, method)
    recording, calls, statuses, new_status = execute.recording, _binary_calls, _c._statuses, _c.lib_new_status

    def operator(self, other):
        if _default_graphs.stack or recording.tapes:
            return slow(self, other)
        dtype = self._dtype
        if type(other) is not EagerTensor:
            given, other = other, _number(other, dtype)
            if other is None:
                return slow(self, given)
        elif other._dtype is not dtype:
            return slow(self, other)
        found = calls.get((op, dtype._number))
        if found is None:
            if dtype._number in numbers:
                call = execute.prepare(op, [self, other], {})
                calls[op, dtype._number] = call.pointer, call.dtypes[0]
            return slow(self, other)
        free = statuses.free
        status = free.pop() if free else new_status()
        if swapped:
            handle = _one(found[0], other._handle, self._handle, status)
        else:
            handle = _one(found[0], self._handle, other._handle, status)
        if not handle:
            _raise(status)
        free.append(status)
        tensor = _make(EagerTensor)
        tensor._handle = handle
        tensor._dtype = found[1]
        tensor._known_shape = tensor._attrs = None
        return tensor
    operator.__name__ = method
    return operator


def _raise(status):
    code, message = _c.lib_code(status), _c.lib_message(status).decode("utf-8", "replace")
    _c.lib_set_status(status, 0, b"")
    _c._statuses.free.append(status)
    from .. import errors
    raise errors.exception_for(code, message)


def compared(op, x, y, otherwise):
    """x == y or x != y, element by element; what can't be compared is not equal."""
    from ..convert import convert_to_tensor
    if y is None:
        return otherwise
    try:
        y = convert_to_tensor(y, None if isinstance(y, Tensor) or hasattr(y, "_as_graph_tensor") else x.dtype.base_dtype)
        if y.dtype.base_dtype != x.dtype.base_dtype:
            return otherwise
        if x.shape.is_fully_defined() and y.shape.is_fully_defined():
            np.broadcast_shapes(tuple(x.shape), tuple(y.shape))
    except (TypeError, ValueError):
        return otherwise
    from ..ops_apply import apply
    return apply(op, None, {"x": x, "y": y})


from . import execute  # noqa: E402  (what runs ops makes tensors)

for _names, _op, _types in (("add radd", "AddV2", _NUMBERS), ("sub rsub", "Sub", _NUMBERS), ("mul rmul", "Mul", _NUMBERS),
                            ("truediv rtruediv", "RealDiv", _FLOATS), ("lt", "Less", _NUMBERS), ("le", "LessEqual", _NUMBERS),
                            ("gt", "Greater", _NUMBERS), ("ge", "GreaterEqual", _NUMBERS)):
    for _name in _names.split():
        setattr(EagerTensor, "__%s__" % _name, _binary(_op, "__%s__" % _name, _types, _name[0] == "r"))
