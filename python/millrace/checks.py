"""checks — assertions: at once where values are known, else as operations; printing and numerical checks."""
import numpy as np

from . import dtypes, errors
from .constant import constant_value
from .control_flow import Assert, group, no_op, with_dependencies
from .convert import convert_to_tensor
from .graph import Tensor, get_default_graph, name_scope
from .math_ops import abs as abs_, reduce_all
from .ops_apply import apply


def _binary(name, op, numpy_op, text):
    def function(x, y, data=None, summarize=None, message=None, name=name):
        with name_scope(name, function.__name__, [x, y]):
            x = convert_to_tensor(x, name="x")
            y = convert_to_tensor(y, x.dtype.base_dtype if not isinstance(y, Tensor) and not hasattr(y, "value") else None,
                                  name="y")
            a, b = constant_value(x), constant_value(y)
            words = (message or "") + "\nCondition x %s y did not hold." % text
            if a is not None and b is not None and not np.all(numpy_op(a, b)):
                raise errors.InvalidArgumentError(None, None, "%s\nFirst elements of x:\n%s\nFirst elements of y:\n%s" % (
                    words, np.ravel(a)[:3], np.ravel(b)[:3]))
            if data is None:
                data_ = [words, "x (%s) = " % x.name, x, "y (%s) = " % y.name, y]
            else:
                data_ = data
            return Assert(reduce_all(apply(op, None, {"x": x, "y": y})), data_, summarize)
    function.__name__ = name
    return function


assert_equal = _binary("assert_equal", "Equal", np.equal, "==")
assert_none_equal = _binary("assert_none_equal", "NotEqual", np.not_equal, "!=")
assert_less = _binary("assert_less", "Less", np.less, "<")
assert_less_equal = _binary("assert_less_equal", "LessEqual", np.less_equal, "<=")
assert_greater = _binary("assert_greater", "Greater", np.greater, ">")
assert_greater_equal = _binary("assert_greater_equal", "GreaterEqual", np.greater_equal, ">=")


def _against_zero(name, compare):
    def function(x, data=None, summarize=None, message=None, name=name):
        x = convert_to_tensor(x, name="x")
        return compare(x, convert_to_tensor(0, x.dtype.base_dtype), data, summarize, message, name)
    function.__name__ = name
    return function


assert_positive = _against_zero("assert_positive", assert_greater)
assert_negative = _against_zero("assert_negative", assert_less)
assert_non_negative = _against_zero("assert_non_negative", assert_greater_equal)
assert_non_positive = _against_zero("assert_non_positive", assert_less_equal)


def assert_near(x, y, rtol=None, atol=None, data=None, summarize=None, message=None, name=None):
    with name_scope(name, "assert_near", [x, y]):
        x = convert_to_tensor(x)
        y = convert_to_tensor(y, x.dtype.base_dtype)
        eps = np.finfo(x.dtype.as_numpy_dtype).eps if x.dtype.is_floating else 0
        rtol, atol = 10 * eps if rtol is None else rtol, 10 * eps if atol is None else atol
        holds = reduce_all(apply("Less", None, {"x": abs_(x - y), "y": atol + rtol * abs_(y)}))
        return Assert(holds, data or [message or "", "x and y not equal to tolerance", x, y], summarize)


def _rank_check(name, holds, text):
    def function(x, rank, data=None, summarize=None, message=None, name=name):
        with name_scope(name, function.__name__, [x]):
            x = convert_to_tensor(x) if not hasattr(x, "dense_shape") else x
            n = x.shape.ndims
            wanted = constant_value(convert_to_tensor(rank)) if not isinstance(rank, (int, tuple, list)) else rank
            if n is not None and wanted is not None:
                if not holds(n, wanted):
                    raise ValueError("%s.  %sTensor %s must have rank %s %s.  Received rank %d, shape %s" % (
                        function.__name__, (message + "  ") if message else "", getattr(x, "name", x), text, wanted, n,
                        x.shape))
                return no_op(name="static_checks_determined_all_ok")
            op = {"": "Equal", "at least": "GreaterEqual"}.get(text, "Equal")
            return Assert(apply(op, None, {"x": apply("Rank", None, {"input": x}), "y": convert_to_tensor(rank)}),
                          data or [message or "", "Tensor %s must have rank" % x.name, rank], summarize)
    function.__name__ = name
    return function


assert_rank = _rank_check("assert_rank", lambda n, r: n == r, "")
assert_rank_at_least = _rank_check("assert_rank_at_least", lambda n, r: n >= r, "at least")
assert_rank_in = _rank_check("assert_rank_in", lambda n, r: n in r, "in")


def assert_scalar(tensor, name=None, message=None):
    tensor = convert_to_tensor(tensor)
    if tensor.shape.ndims not in (0, None):
        raise ValueError("%sExpected scalar shape, saw shape: %s." % (message or "", tensor.shape))
    return tensor


def assert_integer(x, message=None, name=None):
    x = convert_to_tensor(x)
    if not x.dtype.is_integer:
        raise TypeError("%sExpected \"x\" to be integer type.  Found: %s of dtype %r" % (message or "", x.name, x.dtype))
    return no_op("statically_determined_was_integer")


def assert_type(tensor, tf_type, message=None, name=None):
    tensor = convert_to_tensor(tensor)
    if tensor.dtype != tf_type:
        raise TypeError("%s%s must be of type %r" % (message or "", tensor.name, tf_type))
    return no_op("statically_determined_correct_type")


def assert_same_float_dtype(tensors=None, dtype=None):
    found = dtypes.as_dtype(dtype) if dtype is not None else None
    for t in tensors or ():
        if t is None:
            continue
        if found is None:
            found = t.dtype.base_dtype
        elif t.dtype.base_dtype != found:
            raise ValueError("Tensor %s must be of type %s, got %s" % (t, found.name, t.dtype.name))
    found = found or dtypes.float32
    if not found.is_floating:
        raise ValueError("Expected floating point type, got %s." % found.name)
    return found


def assert_proper_iterable(values):
    if isinstance(values, (Tensor, np.ndarray, bytes, str)) or not hasattr(values, "__iter__"):
        raise TypeError("Expected argument \"values\" to be iterable.  Found: %s" % type(values))


def is_numeric_tensor(tensor):
    return isinstance(tensor, Tensor) and (tensor.dtype.is_floating or tensor.dtype.is_integer or tensor.dtype.is_complex)


def _steps(op):
    def function(x, name=None):
        x = convert_to_tensor(x)
        from .array_ops import reshape
        flat = reshape(x, [-1])
        return reduce_all(apply(op, None, {"x": flat[:-1], "y": flat[1:]}))
    return function


is_non_decreasing, is_strictly_increasing = _steps("LessEqual"), _steps("Less")


def check_numerics(tensor, message, name=None):
    return apply("CheckNumerics", name, {"tensor": tensor, "message": message})


def verify_tensor_all_finite(t=None, msg=None, name=None, x=None, message=None):
    t, msg = x if t is None else t, message if msg is None else msg
    with name_scope(name, "VerifyFinite", [t]):
        t = convert_to_tensor(t)
        return with_dependencies([check_numerics(t, msg)], t)


assert_all_finite = verify_tensor_all_finite


def add_check_numerics_ops():
    """Checks every floating point tensor that the graph has now."""
    checks = []
    for op in get_default_graph().get_operations():
        for t in op.outputs:
            if t.dtype in (dtypes.float16, dtypes.float32, dtypes.float64) and op._control_flow_context is None:
                checks.append(check_numerics(t, op.name + ":%d" % t.value_index))
    return group(*[c.op for c in checks])


def Print(input_, data, message=None, first_n=None, summarize=None, name=None):
    """input_, and prints data when it is computed."""
    return apply("Print", name, {"input": input_, "data": [convert_to_tensor(d) for d in data], "message": message or "",
                                 "first_n": -1 if first_n is None else first_n,
                                 "summarize": 3 if summarize is None else summarize})


def print_v2(*inputs, **kwargs):
    """An operation that prints its arguments, as print() does."""
    import sys
    stream = kwargs.get("output_stream", sys.stderr)
    where = {id(sys.stderr): "stderr", id(sys.stdout): "stdout"}.get(id(stream), stream)
    separator, end = kwargs.get("sep", " "), kwargs.get("end", "\n")
    template = separator.join("{}" if isinstance(i, Tensor) or hasattr(i, "_as_graph_tensor") else str(i).replace("{}", "")
                              for i in inputs)
    tensors = [convert_to_tensor(i) for i in inputs if isinstance(i, Tensor) or hasattr(i, "_as_graph_tensor")]
    text = apply("StringFormat", None, {"inputs": tensors, "template": template, "placeholder": "{}",
                                        "summarize": kwargs.get("summarize") or 3})
    return apply("PrintV2", kwargs.get("name"), {"input": text, "output_stream": where if isinstance(where, str) else
                                                 "stderr", "end": end})


def ensure_shape(x, shape, name=None):
    from .tensor_shape import TensorShape
    return apply("EnsureShape", name, {"input": x, "shape": TensorShape(shape)})
