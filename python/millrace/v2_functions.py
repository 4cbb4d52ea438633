"""v2_functions — functions whose arguments TensorFlow 2 names and orders otherwise than TensorFlow 1."""
from . import array_ops, dtypes, math_ops
from .ops_apply import apply


def _reduction(name):
    function = getattr(math_ops, name)

    def reduce(input_tensor, axis=None, keepdims=False, name=None):
        return function(input_tensor, axis=axis, keepdims=keepdims, name=name)
    reduce.__name__, reduce.__doc__ = name, function.__doc__
    return reduce


reduce_sum, reduce_mean, reduce_prod, reduce_max, reduce_min, reduce_all, reduce_any, reduce_logsumexp = [
    _reduction("reduce_" + n) for n in ("sum", "mean", "prod", "max", "min", "all", "any", "logsumexp")]


def concat(values, axis, name="concat"):
    return array_ops.concat(values, axis, name=name)


def shape(input, out_type=dtypes.int32, name=None):
    return array_ops.shape(input, name=name, out_type=out_type)


def size(input, out_type=dtypes.int32, name=None):
    return array_ops.size(input, name=name, out_type=out_type)


def zeros_like(input, dtype=None, name=None):
    return array_ops.zeros_like(input, dtype=dtype, name=name)


def ones_like(input, dtype=None, name=None):
    return array_ops.ones_like(input, dtype=dtype, name=name)


def expand_dims(input, axis, name=None):
    return array_ops.expand_dims(input, axis, name=name)


def squeeze(input, axis=None, name=None):
    return array_ops.squeeze(input, axis, name=name)


def transpose(a, perm=None, conjugate=False, name="transpose"):
    return array_ops.transpose(a, perm, name=name, conjugate=conjugate)


def gather(params, indices, validate_indices=None, axis=None, batch_dims=0, name=None):
    return array_ops.gather(params, indices, axis=axis, batch_dims=batch_dims, name=name)


def argmax(input, axis=None, output_type=dtypes.int64, name=None):
    return math_ops.argmax(input, 0 if axis is None else axis, name=name, output_type=output_type)


def argmin(input, axis=None, output_type=dtypes.int64, name=None):
    return math_ops.argmin(input, 0 if axis is None else axis, name=name, output_type=output_type)


def _two(name, op):
    def function(x, y, name=None):
        return apply(op, name, {"x": x, "y": y})
    function.__name__ = name
    return function


greater, less, logical_and, logical_or = [_two(n, o) for n, o in (
    ("greater", "Greater"), ("less", "Less"), ("logical_and", "LogicalAnd"), ("logical_or", "LogicalOr"))]
maximum, minimum = _two("maximum", "Maximum"), _two("minimum", "Minimum")


def logical_not(x, name=None):
    return apply("LogicalNot", name, {"x": x})


def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None):
    return math_ops.norm(tensor, ord=ord, axis=axis, keepdims=bool(keepdims), name=name)

