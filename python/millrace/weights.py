"""weights — weights that broadcast over values: the same rank, each extent 1 or that of the values; or a scalar."""
from .array_ops import ones_like
from .control_flow import no_op
from .convert import convert_to_tensor
from .graph import name_scope


def assert_broadcastable(weights, values):
    """ValueError where what is known of the shapes says no."""
    weights, values = convert_to_tensor(weights), convert_to_tensor(values)
    w, v = weights.shape, values.shape
    if w.ndims in (0, None) or v.ndims is None:
        return no_op(name="static_scalar_check_success")
    text = "weights can not be broadcast to values. values.rank=%s. weights.rank=%s. values.shape=%s. weights.shape=%s." % (
        v.ndims, w.ndims, v, w)
    if w.ndims != v.ndims:
        raise ValueError(text)
    for a, b in zip(w.dims, v.dims):
        if a.value not in (1, None) and b.value is not None and a.value != b.value:
            raise ValueError(text)
    return no_op(name="static_dims_check_success")


def broadcast_weights(weights, values):
    """The weights in the shape of the values."""
    with name_scope(None, "broadcast_weights", [weights, values]):
        values = convert_to_tensor(values, name="values")
        weights = convert_to_tensor(weights, dtype=values.dtype.base_dtype, name="weights")
        if weights.shape.is_fully_defined() and values.shape.is_fully_defined() and \
                weights.shape.as_list() == values.shape.as_list():
            return weights
        assert_broadcastable(weights, values)
        return weights * ones_like(values)
