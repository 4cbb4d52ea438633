"""convert — tensors from whatever a program hands to an op: variables, arrays, numbers, lists that hold tensors."""
import numpy as np

from . import constant, dtypes, tensor_shape
from .graph import Tensor, executing_eagerly, get_default_graph
from .indexed import IndexedSlices, SparseTensor, SparseTensorValue

_registered = {}   # priority: [(type, function)]


def register_tensor_conversion_function(base_type, conversion_func, priority=100):
    """Objects of these types become tensors by conversion_func(value, dtype, name, as_ref)."""
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    _registered.setdefault(priority, []).append((base_type, conversion_func))


def _holds_tensor(value):
    if isinstance(value, (list, tuple)):
        return any(_holds_tensor(v) for v in value)
    return isinstance(value, (Tensor, SparseTensor)) or hasattr(value, "_as_graph_tensor") or \
        isinstance(value, tensor_shape.Dimension) and value.value is None


def _packed_dtype(values):
    for value in values:
        if isinstance(value, Tensor):
            return value.dtype.base_dtype
        if hasattr(value, "_as_graph_tensor"):
            return value.dtype.base_dtype
        if isinstance(value, (list, tuple)):
            found = _packed_dtype(value)
            if found is not None:
                return found
    return None


def _pack(values, dtype, name):
    from . import ops_apply
    dtype = dtype or _packed_dtype(values)
    parts = [_pack(v, dtype, None) if isinstance(v, (list, tuple)) and _holds_tensor(v)
             else convert_to_tensor(v, dtype) for v in values]
    return ops_apply.apply("Pack", name or "packed", {"values": parts, "axis": 0})


def _of_indexed_slices(value, dtype, name):
    from . import array_ops, ops_apply
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError("Tensor conversion requested dtype %s for IndexedSlices with dtype %s" % (
            dtype.name, value.dtype.name))
    if value.dense_shape is None:
        raise ValueError("Tensor conversion requested for IndexedSlices without dense_shape: %s" % value)
    return ops_apply.apply("UnsortedSegmentSum", name, {
        "data": value.values, "segment_ids": value.indices, "num_segments": array_ops.gather(value.dense_shape, 0)})


def _checked(tensor, dtype, value):
    if dtype is not None and not dtype.is_compatible_with(tensor.dtype):
        raise ValueError("Tensor conversion requested dtype %s for Tensor with dtype %s: %r" % (
            dtype.name, tensor.dtype.name, str(value)))
    return tensor


def convert_to_tensor(value, dtype=None, name=None, preferred_dtype=None, dtype_hint=None, as_ref=False):
    """The value as a tensor of the default graph. ValueError for another dtype than wanted, TypeError for what is none.

    >>> tf.convert_to_tensor([1.0, 2.0])
    <tf.Tensor 'Const:0' shape=(2,) dtype=float32>
    """
    if isinstance(value, Tensor):
        if type(value) is not Tensor:
            return _of_eager(value, dtype)
        graph = get_default_graph()
        if dtype is not None and value._dtype._number % 100 != dtypes.as_dtype(dtype)._number % 100:
            return _checked(value, dtypes.as_dtype(dtype), value)
        if value.op.graph is not graph and graph.building_function:
            return graph.capture(value)
        return value
    dtype = dtypes.as_dtype(dtype) if dtype is not None else None
    preferred = preferred_dtype if preferred_dtype is not None else dtype_hint
    if dtype is None and preferred is not None:
        try:
            return convert_to_tensor(value, preferred, name, as_ref=as_ref)
        except (TypeError, ValueError):
            pass
    for priority in sorted(_registered):
        for base_type, function in _registered[priority]:
            if isinstance(value, base_type):
                found = function(value, dtype=dtype, name=name, as_ref=as_ref)
                if found is not NotImplemented:
                    return _checked(found, dtype, value)
    convert = getattr(value, "_as_graph_tensor", None)
    if convert is not None:
        found = convert(dtype=dtype, name=name, as_ref=as_ref)
        if found is not NotImplemented:
            return _captured(_checked(found, dtype, value))
    if isinstance(value, IndexedSlices):
        return _of_indexed_slices(value, dtype, name)
    if isinstance(value, (SparseTensor, SparseTensorValue)):
        raise TypeError("Failed to convert object of type %s to Tensor. Contents: %s. Consider casting elements to a "
                        "supported type." % (type(value), value))
    if isinstance(value, tensor_shape.TensorShape):
        return _of_shape(value, dtype, name)
    if isinstance(value, tensor_shape.Dimension):
        if value.value is None:
            raise ValueError("Cannot convert an unknown Dimension to a Tensor: %s" % value)
        value = value.value
    if isinstance(value, (list, tuple)) and _holds_tensor(value):
        return _pack(value, dtype, name)
    if isinstance(value, dtypes.DType):
        raise TypeError("Failed to convert object of type %s to Tensor. Contents: %s." % (type(value), value))
    try:
        return constant.constant(value, dtype, name=name or "Const")
    except TypeError as error:
        if "Expected" in str(error) or "Failed" in str(error):
            raise
        raise TypeError("Failed to convert object of type %s to Tensor. Contents: %s. Consider casting elements to a "
                        "supported type." % (type(value), value)) from None


def _captured(tensor):
    if type(tensor) is not Tensor:
        return _of_eager(tensor, None)
    graph = get_default_graph()
    return graph.capture(tensor) if tensor.op.graph is not graph and graph.building_function else tensor


def _of_shape(value, dtype, name):
    if not value.is_fully_defined():
        raise ValueError("Cannot convert a partially known TensorShape to a Tensor: %s" % value)
    if dtype is not None and dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError("Cannot convert a TensorShape to dtype: %s" % dtype)
    return constant.constant(np.array(value.as_list(), (dtype or dtypes.int32).as_numpy_dtype),
                             name=name or "shape_as_tensor")


def internal_convert_to_tensor(value, dtype=None, name=None, as_ref=False, preferred_dtype=None, ctx=None,
                               accept_symbolic_tensors=True, accept_composite_tensors=True):
    return convert_to_tensor(value, dtype, name, preferred_dtype, as_ref=as_ref)


def _of_eager(value, dtype):
    """An eager tensor as it is, or in the graph that is being built: captured by a function, else a constant."""
    if dtype is not None:
        _checked(value, dtypes.as_dtype(dtype), value)
    if executing_eagerly():
        return value
    graph = get_default_graph()
    if graph.building_function:
        return graph.capture(value)
    return constant.constant_of_array(np.asarray(value.numpy()), value._dtype)


def convert_n_to_tensor(values, dtype=None, name=None, preferred_dtype=None):
    return [convert_to_tensor(v, dtype, None if name is None else "%s_%d" % (name, i), preferred_dtype)
            for i, v in enumerate(values)]


def convert_to_tensor_or_indexed_slices(value, dtype=None, name=None, as_ref=False):
    """The value itself where it is IndexedSlices or sparse, else a tensor."""
    if isinstance(value, (IndexedSlices, SparseTensor)):
        return value
    return convert_to_tensor(value, dtype, name, as_ref=as_ref)


def convert_n_to_tensor_or_indexed_slices(values, dtype=None, name=None):
    return [None if v is None else convert_to_tensor_or_indexed_slices(v, dtype, name) for v in values]


internal_convert_n_to_tensor = convert_n_to_tensor
convert_to_tensor_or_composite = internal_convert_to_tensor_or_composite = convert_to_tensor_or_indexed_slices


def is_dense_tensor_like(t):
    return isinstance(t, Tensor) or hasattr(t, "_as_graph_tensor")
