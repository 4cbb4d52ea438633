"""sets — tf.sets: operations on the last axis of tensors as sets of values."""
from . import dtypes
from .convert import convert_to_tensor
from .indexed import SparseTensor, SparseTensorValue
from .ops_apply import apply

__all__ = ["set_size", "size", "set_intersection", "intersection", "set_difference", "difference", "set_union", "union"]
_KINDS = (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16, dtypes.string)


def _value(value):
    if isinstance(value, (SparseTensor, SparseTensorValue)):
        return SparseTensor.from_value(value)
    return convert_to_tensor(value)


def set_size(a, validate_indices=True):
    """How many different values each set has."""
    a = _value(a)
    if not isinstance(a, SparseTensor):
        raise TypeError("Expected `SparseTensor`, got %s." % a)
    if a.values.dtype.base_dtype not in _KINDS:
        raise TypeError("Invalid dtype `%s` not in supported dtypes: `%s`." % (a.values.dtype, list(_KINDS)))
    return apply("SetSize", None, {"set_indices": a.indices, "set_values": a.values, "set_shape": a.dense_shape,
                                   "validate_indices": validate_indices})


def _operation(a, b, operation, validate_indices):
    a, b = _value(a), _value(b)
    if b.dtype.base_dtype != a.dtype.base_dtype:
        raise TypeError("Types don't match, %s vs %s." % (a.dtype, b.dtype))
    if a.dtype.base_dtype not in _KINDS:
        raise TypeError("Invalid dtype `%s` not in supported dtypes: `%s`." % (a.dtype, list(_KINDS)))
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        a, b = b, a     # the op has the dense set first
        if operation in ("a-b", "b-a"):
            operation = "b-a" if operation == "a-b" else "a-b"
    values = {"set_operation": operation, "validate_indices": validate_indices}
    parts = lambda s, n: {"set%d_indices" % n: s.indices, "set%d_values" % n: s.values, "set%d_shape" % n: s.dense_shape}
    if isinstance(a, SparseTensor):
        made = apply("SparseToSparseSetOperation", None, {**parts(a, 1), **parts(b, 2), **values})
    elif isinstance(b, SparseTensor):
        made = apply("DenseToSparseSetOperation", None, {"set1": a, **parts(b, 2), **values})
    else:
        made = apply("DenseToDenseSetOperation", None, {"set1": a, "set2": b, **values})
    return SparseTensor(made.result_indices, made.result_values, made.result_shape)


def set_intersection(a, b, validate_indices=True):
    """The values that are in both, as a SparseTensor."""
    return _operation(a, b, "intersection", validate_indices)


def set_difference(a, b, aminusb=True, validate_indices=True):
    """The values of one that are not in the other."""
    return _operation(a, b, "a-b" if aminusb else "b-a", validate_indices)


def set_union(a, b, validate_indices=True):
    """The values that are in either."""
    return _operation(a, b, "union", validate_indices)


size, intersection, difference, union = set_size, set_intersection, set_difference, set_union
