"""constant — constants from Python values, TensorProtos, and the values of tensors that are known without running."""
import numpy as np

from . import _c, dtypes, tensor_shape, tensors
from .graph import Tensor, executing_eagerly, get_default_graph

_INT32 = np.iinfo(np.int32)


def _first_leaf(value):
    while isinstance(value, (list, tuple)):
        if not value:
            return None
        value = value[0]
    return value


def _leaves(value):
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _leaves(one)
    else:
        yield value


_PYTHON_OK = {"f": (int, float, np.integer, np.floating), "i": (int, np.integer), "u": (int, np.integer),
              "b": (bool, np.bool_), "c": (int, float, complex, np.number)}


def _check_leaves(value, dtype):
    """TypeError for a float where an int is wanted, and so on, as TensorFlow words it."""
    if dtype._number == 7:
        for leaf in _leaves(value):
            if not isinstance(leaf, (str, bytes, np.generic, np.ndarray)):
                raise TypeError("Expected string, got %r of type '%s' instead." % (leaf, type(leaf).__name__))
        return
    wanted = _PYTHON_OK.get(np.dtype(dtype._numpy).kind)
    if wanted is None:
        return
    for leaf in _leaves(value):
        if isinstance(leaf, (np.ndarray, tensor_shape.Dimension)):
            continue
        if isinstance(leaf, Tensor):
            raise TypeError("Expected %s, got %s of type 'Tensor' instead." % (dtype.name, leaf))
        if not isinstance(leaf, wanted) or (isinstance(leaf, bool) and bool not in wanted):
            raise TypeError("Expected %s, got %r of type '%s' instead." % (dtype.name, leaf, type(leaf).__name__))


def to_array(value, dtype=None):
    """(array, DType) of a Python or NumPy value: ints are int32 where they fit, floats float32. TypeError, ValueError."""
    if value is None:
        raise ValueError("None values not supported.")
    dtype = dtypes.as_dtype(dtype).base_dtype if dtype is not None else None
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        found = dtypes.as_dtype(array.dtype) if array.dtype != object or dtype is None else dtype
        if dtype is not None and dtype != found:
            if found._number == 7 or dtype._number == 7:
                raise TypeError("Expected %s, got %r of type '%s' instead." % (dtype.name, value, type(value).__name__))
            array = array.astype(dtype._numpy)
        return array, dtype or found
    if isinstance(value, tensor_shape.TensorShape):
        value = value.as_list()
    if hasattr(value, "__array__") and not isinstance(value, (Tensor, dtypes.DType)):
        return to_array(np.asarray(value), dtype)
    if dtype is not None:
        _check_leaves(value, dtype)
        if dtype._number == 7:
            array = _string_array(value)
        else:
            array = _numeric_array(value, dtype._numpy)
        return array, dtype
    return _guess(value)


def _string_array(value):
    array = np.array(value, dtype=object)
    if array.dtype != object:
        array = array.astype(object)
    return array


def _numeric_array(value, numpy_type):
    try:
        array = np.array(value, dtype=numpy_type)
    except OverflowError as error:
        raise ValueError(str(error)) from None
    except (ValueError, TypeError) as error:
        raise ValueError("Argument must be a dense tensor: %r%s" % (value, " - %s" % error)) from None
    return array


def _guess(value):
    leaf = _first_leaf(value)
    if leaf is None:
        if isinstance(value, (list, tuple)):
            if any(l is None for l in _leaves(value)):
                raise TypeError("Failed to convert object of type %s to Tensor. Contents: %s. Consider casting elements "
                                "to a supported type." % (type(value), value))
            return np.array(value, np.float32), dtypes.float32
        raise ValueError("None values not supported.")
    if isinstance(leaf, (str, bytes)):
        _check_leaves(value, dtypes.string)
        return _string_array(value), dtypes.string
    if isinstance(leaf, (np.ndarray, np.generic)):
        array = np.array(value)
        return array, dtypes.as_dtype(array.dtype)
    try:
        array = np.array(value)
    except ValueError:
        raise ValueError("Argument must be a dense tensor: %r - got shape %s, but wanted a rectangle"
                         % (value, [len(value)])) from None
    if array.dtype == object:
        for leaf in _leaves(value):
            if isinstance(leaf, tensor_shape.Dimension) and leaf.value is not None:
                continue
            if not isinstance(leaf, (int, float, complex, bool)):
                raise TypeError("Failed to convert object of type %s to Tensor. Contents: %s. Consider casting elements "
                                "to a supported type." % (type(value), value))
        try:
            array = np.array(value, np.int64)
        except (TypeError, ValueError, OverflowError):
            raise ValueError("Argument must be a dense tensor: %r" % (value,)) from None
    if array.dtype.kind == "i":
        fits = array.size == 0 or (array.min() >= _INT32.min and array.max() <= _INT32.max)
        return (array.astype(np.int32), dtypes.int32) if fits else (array, dtypes.int64)
    if array.dtype.kind == "f":
        return array.astype(np.float32), dtypes.float32
    return array, dtypes.as_dtype(array.dtype)


def _reshaped(array, shape, verify):
    shape = [int(d) for d in tensor_shape.as_shape(shape).as_list()]
    size = int(np.prod(shape)) if shape else 1
    if array.size == size:
        return array.reshape(shape)
    if verify:
        raise TypeError("Expected Tensor's shape: %s, got %s." % (tuple(shape), array.shape))
    if array.size > size:
        raise ValueError("Too many elements provided. Needed at most %d, but received %d" % (size, array.size))
    flat = array.ravel()
    last = flat[-1:] if flat.size else np.zeros(1, array.dtype)
    return np.concatenate([flat, np.repeat(last, size - flat.size)]).reshape(shape)


def constant(value, dtype=None, shape=None, name="Const", verify_shape=False):
    """A tensor with that value. Fewer values than `shape` needs are filled with the last one.

    >>> tf.constant([1, 2], shape=[3])
    <tf.Tensor 'Const:0' shape=(3,) dtype=int32>
    """
    array, dtype = to_array(value, dtype)
    if shape is not None:
        array = _reshaped(array, shape, verify_shape)
    return constant_of_array(array, dtype, name)


def constant_of_array(array, dtype, name="Const"):
    if executing_eagerly():
        from .eager import tensor
        return tensor.from_array(array, dtype)
    pointer = tensors.new(array, dtype._number)
    graph = get_default_graph()
    return graph._new_operation("Const", (), name, {"dtype": dtype, "value": pointer})._outputs[0]


# ---------------------------------------- TensorProtos

def make_tensor_proto(values, dtype=None, shape=None, verify_shape=False, allow_broadcast=False):
    """A TensorProto of a value."""
    from . import messages
    if isinstance(values, messages.TensorProto):
        return values
    array, dtype = to_array(values, dtype)
    if shape is not None:
        array = _reshaped(array, shape, verify_shape)
    proto = messages.TensorProto(dtype=dtype._number)
    proto.tensor_shape.CopyFrom(tensor_shape.TensorShape(array.shape).as_proto())
    if dtype._number == 7:
        proto.string_val.extend([tensors._as_bytes(v) for v in array.ravel()])
        return proto
    if array.size > 1:
        proto.tensor_content = np.ascontiguousarray(array if dtype._number != 14 else
                                                    tensors._to_bfloat16(array)).tobytes()
        return proto
    field, convert = _VALUE_FIELDS[dtype._number]
    for value in array.ravel():
        getattr(proto, field).extend(convert(value))
    return proto


def _half(value):
    return [int(np.float16(value).view(np.uint16))]


_VALUE_FIELDS = {
    1: ("float_val", lambda v: [float(v)]), 2: ("double_val", lambda v: [float(v)]),
    8: ("scomplex_val", lambda v: [v.real, v.imag]), 18: ("dcomplex_val", lambda v: [v.real, v.imag]),
    9: ("int64_val", lambda v: [int(v)]), 10: ("bool_val", lambda v: [bool(v)]), 19: ("half_val", _half),
    14: ("half_val", lambda v: [int(tensors._to_bfloat16(np.asarray(v)))]),
    22: ("uint32_val", lambda v: [int(v)]), 23: ("uint64_val", lambda v: [int(v)]),
}
for _n in (3, 4, 5, 6, 11, 12, 13, 15, 16, 17):
    _VALUE_FIELDS[_n] = ("int_val", lambda v: [int(v)])


def make_ndarray(tensor):
    """The array of a TensorProto."""
    shape = [d.size for d in tensor.tensor_shape.dim]
    size = int(np.prod(shape)) if shape else 1
    dtype = dtypes.as_dtype(tensor.dtype)
    if dtype._number == 7:
        values = list(tensor.string_val)
        if len(values) == 1:
            values *= size
        array = np.empty(size, object)
        array[:] = values
        return array.reshape(shape)
    if tensor.tensor_content:
        kind = np.uint16 if dtype._number == 14 else dtype._numpy
        array = np.frombuffer(tensor.tensor_content, kind).reshape(shape).copy()
        return (array.astype(np.uint32) << 16).view(np.float32) if dtype._number == 14 else array
    field = _VALUE_FIELDS[dtype._number][0]
    values = list(getattr(tensor, field))
    if field == "half_val":
        bits = np.array(values, np.uint16)
        values = bits.view(np.float16) if dtype._number == 19 else (bits.astype(np.uint32) << 16).view(np.float32)
    elif "complex" in field:
        values = [complex(a, b) for a, b in zip(values[::2], values[1::2])]
    array = np.array(values, dtype._numpy)
    if array.size == 0 and size:
        return np.zeros(shape, dtype._numpy)
    if array.size < size:
        array = np.concatenate([array, np.repeat(array[-1:], size - array.size)])
    return array.reshape(shape)


# ---------------------------------------- values known without running

def _evaluated(tensor):
    import ctypes
    result = ctypes.c_void_p()
    with _c.Status() as status:
        known = _c.TF_TryEvaluateConstant(tensor.op.graph._c, tensor._as_tf_output(), ctypes.byref(result), status)
        _c.lib_set_status(status, 0, b"")
    return tensors.take(result.value) if known and result.value else None


def constant_value(tensor, partial=False):
    """The value of a tensor as an array where it follows from constants alone, else None."""
    if isinstance(tensor, (np.ndarray, np.generic)):
        return tensor
    if not isinstance(tensor, Tensor):
        return None
    if type(tensor) is not Tensor:
        return np.asarray(tensor.numpy())
    if tensor.op.type in ("Placeholder", "VariableV2", "ReadVariableOp", "VarHandleOp"):
        return None
    if tensor.op.type == "Identity" and tensor.op.inputs[0].dtype._is_ref_dtype:
        return None
    if tensor.op.type in ("Shape", "Size", "Rank"):
        shape = tensor.op.inputs[0].shape
        if tensor.op.type == "Rank":
            return None if shape.ndims is None else np.array(shape.ndims, np.int32)
        if not shape.is_fully_defined():
            return None
        numpy_type = tensor.dtype.as_numpy_dtype
        return np.array(shape.as_list() if tensor.op.type == "Shape" else shape.num_elements(), numpy_type)
    value = _evaluated(tensor)
    if value is None:
        return None
    if tensor.dtype._number % 100 == 7 and isinstance(value, bytes):
        return np.array(value, object)
    return np.asarray(value)


def constant_value_as_shape(tensor):
    """What is known of the shape that a tensor [rank] holds."""
    value = constant_value(tensor)
    if value is not None:
        return tensor_shape.TensorShape([None if int(d) < 0 else int(d) for d in np.asarray(value).ravel()])
    if tensor.op.type == "Shape":
        return tensor.op.inputs[0].shape
    if tensor.op.type == "Pack":
        dims = [constant_value(t) for t in tensor.op.inputs]
        return tensor_shape.TensorShape([None if d is None or int(d) < 0 else int(d) for d in dims])
    if tensor.op.type == "ConcatV2":
        shape = tensor_shape.TensorShape([])
        for part in tensor.op.inputs[:-1]:
            shape = shape.concatenate(constant_value_as_shape(part))
        return shape
    if tensor.op.type == "Cast":
        return constant_value_as_shape(tensor.op.inputs[0])
    dims = tensor.shape
    if dims.ndims == 1 and dims.dims[0].value is not None:
        return tensor_shape.TensorShape([None] * dims.dims[0].value)
    return tensor_shape.TensorShape(None)


def is_tensor(x):
    from .indexed import IndexedSlices, SparseTensor
    return isinstance(x, (Tensor, SparseTensor, IndexedSlices)) or hasattr(x, "_as_graph_tensor")


is_tf_type = is_tensor
