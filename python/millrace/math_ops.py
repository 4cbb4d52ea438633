"""math_ops — arithmetic, reductions and products, and what operators on tensors do."""
import builtins

import numpy as np

from . import dtypes, tensor_shape
from .array_ops import (concat, deprecated_argument, expand_dims, identity, matrix_transpose, rank, reshape, shape,
                        transpose)
from .constant import constant, constant_value
from .convert import convert_n_to_tensor_or_indexed_slices, convert_to_tensor
from .graph import Tensor, name_scope
from .indexed import IndexedSlices, SparseTensor
from .ops_apply import apply


# ---------------------------------------- types

def cast(x, dtype, name=None):
    """The same values as another type."""
    dtype = dtypes.as_dtype(dtype).base_dtype
    if isinstance(x, Tensor) and x.dtype.base_dtype == dtype:
        return x
    with name_scope(name, "Cast", [x]) as scope:
        if isinstance(x, SparseTensor):
            return SparseTensor(x.indices, cast(x.values, dtype, name=scope), x.dense_shape)
        if isinstance(x, IndexedSlices):
            return IndexedSlices(cast(x.values, dtype, name=scope), x.indices, x.dense_shape)
        x = convert_to_tensor(x, name="x")
        if x.dtype.base_dtype == dtype:
            return x
        return apply("Cast", scope, {"x": x, "DstT": dtype})


def saturate_cast(value, dtype, name=None):
    with name_scope(name, "saturate_cast", [value]) as scope:
        value = convert_to_tensor(value)
        dtype = dtypes.as_dtype(dtype).base_dtype
        if value.dtype.min < dtype.min:
            value = maximum(value, convert_to_tensor(dtype.min, value.dtype))
        if value.dtype.max > dtype.max:
            value = minimum(value, convert_to_tensor(dtype.max, value.dtype))
        return cast(value, dtype, name=scope)


def _to(dtype, name):
    def function(x, name=name):
        return cast(x, dtype, name=name)
    function.__name__ = name
    return function


to_float, to_double = _to(dtypes.float32, "ToFloat"), _to(dtypes.float64, "ToDouble")
to_int32, to_int64 = _to(dtypes.int32, "ToInt32"), _to(dtypes.int64, "ToInt64")
to_bfloat16 = _to(dtypes.bfloat16, "ToBFloat16")
to_complex64, to_complex128 = _to(dtypes.complex64, "ToComplex64"), _to(dtypes.complex128, "ToComplex128")


# ---------------------------------------- element by element

def add(x, y, name=None):
    x = convert_to_tensor(x) if isinstance(x, Tensor) or not isinstance(y, Tensor) else convert_to_tensor(
        x, y.dtype.base_dtype)
    return apply("Add" if x.dtype.base_dtype == dtypes.string else "AddV2", name or "Add", {"x": x, "y": y})


def _binary(op, default=None, doc=None):
    def function(x, y, name=None):
        return apply(op, name or default, {"x": x, "y": y})
    function.__name__ = (default or op).lower()
    return function


subtract, multiply = _binary("Sub"), _binary("Mul")
maximum, minimum = _binary("Maximum"), _binary("Minimum")


def pow(x, y, name=None):
    with name_scope(name, "Pow", [x]) as scope:
        return apply("Pow", scope, {"x": x, "y": y})


def divide(x, y, name=None):
    x = convert_to_tensor(x) if not isinstance(y, Tensor) or isinstance(x, Tensor) else convert_to_tensor(
        x, y.dtype.base_dtype)
    result = x / y
    return identity(result, name) if name else result


_TRUEDIV = {dtypes.uint8: dtypes.float32, dtypes.int8: dtypes.float32, dtypes.uint16: dtypes.float32,
            dtypes.int16: dtypes.float32, dtypes.int32: dtypes.float64, dtypes.int64: dtypes.float64}


def truediv(x, y, name=None):
    with name_scope(name, "truediv", [x, y]) as scope:
        x, y = _pair(x, y)
        if x.dtype.base_dtype != y.dtype.base_dtype:
            raise TypeError("x and y must have the same dtype, got %r != %r" % (x.dtype.base_dtype, y.dtype.base_dtype))
        to = _TRUEDIV.get(x.dtype.base_dtype)
        if to is not None:
            x, y = cast(x, to), cast(y, to)
        return apply("RealDiv", scope, {"x": x, "y": y})


def _pair(x, y):
    if isinstance(x, Tensor) or not isinstance(y, Tensor):
        x = convert_to_tensor(x, name="x")
        return x, convert_to_tensor(y, x.dtype.base_dtype, name="y")
    y = convert_to_tensor(y, name="y")
    return convert_to_tensor(x, y.dtype.base_dtype, name="x"), y


def div(x, y, name=None):
    """x / y; of integers rounded down."""
    with name_scope(name, "div", [x, y]) as scope:
        x, y = _pair(x, y)
        if x.dtype.base_dtype != y.dtype.base_dtype:
            raise TypeError("x and y must have the same dtype, got %r != %r" % (x.dtype.base_dtype, y.dtype.base_dtype))
        return apply("RealDiv" if x.dtype.is_floating or x.dtype.is_complex else "FloorDiv", scope, {"x": x, "y": y})


def div_no_nan(x, y, name=None):
    return apply("DivNoNan", name or "div_no_nan", {"x": x, "y": y})


def floordiv(x, y, name=None):
    with name_scope(name, "floordiv", [x, y]) as scope:
        return apply("FloorDiv", scope, {"x": x, "y": y})


floor_div = _binary("FloorDiv")
mod = floormod = floor_mod = _binary("FloorMod", "FloorMod")


def abs(x, name=None):
    if isinstance(x, SparseTensor):
        return SparseTensor(x.indices, abs(x.values, name), x.dense_shape)
    with name_scope(name, "Abs", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex:
            return apply("ComplexAbs", scope, {"x": x, "Tout": x.dtype.real_dtype})
        return apply("Abs", scope, {"x": x})


def _unary(op, name=None):
    """A function of one tensor that takes a sparse one too."""
    def function(x, name=None):
        if isinstance(x, SparseTensor):
            return SparseTensor(x.indices, function(x.values, name), x.dense_shape)
        return apply(op, name, {"x": x})
    function.__name__ = name or op.lower()
    function.__doc__ = "%s of each element." % op
    return function


negative, square, sqrt, sign, erf = _unary("Neg"), _unary("Square"), _unary("Sqrt"), _unary("Sign"), _unary("Erf")
tanh = _unary("Tanh")
exp, log, log1p, expm1 = _unary("Exp"), _unary("Log"), _unary("Log1p"), _unary("Expm1")
sigmoid = _unary("Sigmoid")
floor, reciprocal, rsqrt = _unary("Floor"), _unary("Reciprocal"), _unary("Rsqrt")


def round(x, name=None):
    x = convert_to_tensor(x)
    return x if x.dtype.is_integer else apply("Round", name, {"x": x})


def ceil(x, name=None):
    return apply("Ceil", name, {"x": x})


def log_sigmoid(x, name=None):
    with name_scope(name, "LogSigmoid", [x]) as scope:
        return negative(apply("Softplus", None, {"features": -convert_to_tensor(x)}), name=scope)


def scalar_mul(scalar, x, name=None):
    scalar = convert_to_tensor(scalar, dtype=x.dtype.base_dtype, name="scalar")
    if scalar.shape.ndims not in (0, None):
        raise ValueError("Only scalar multiply works, got shape %s" % scalar.shape)
    if isinstance(x, IndexedSlices):
        return IndexedSlices(scalar * x.values, x.indices, x.dense_shape)
    return scalar * x


def complex(real, imag, name=None):
    real, imag = convert_to_tensor(real), convert_to_tensor(imag)
    kind = {dtypes.float32: dtypes.complex64, dtypes.float64: dtypes.complex128}.get(real.dtype.base_dtype)
    if kind is None or imag.dtype.base_dtype != real.dtype.base_dtype:
        raise TypeError("real and imag have incorrect types: %s %s" % (real.dtype.name, imag.dtype.name))
    return apply("Complex", name, {"real": real, "imag": imag, "Tout": kind})


def _part(op):
    def function(input, name=None):
        input = convert_to_tensor(input)
        if not input.dtype.is_complex:
            return input if op == "Real" else input * 0
        return apply(op, name, {"input": input, "Tout": input.dtype.real_dtype})
    function.__name__ = op.lower()
    return function


real, imag = _part("Real"), _part("Imag")


def angle(input, name=None):
    input = convert_to_tensor(input)
    if input.dtype.is_complex:
        return apply("Angle", name, {"input": input, "Tout": input.dtype.real_dtype})
    from .array_ops import ones_like, where, zeros_like
    return where(input < 0, np.pi * ones_like(input), zeros_like(input))


def conj(x, name=None):
    x = convert_to_tensor(x)
    return apply("Conj", name, {"input": x}) if x.dtype.is_complex else x


def equal(x, y, name=None):
    return apply("Equal", name, {"x": x, "y": y})


def not_equal(x, y, name=None):
    return apply("NotEqual", name, {"x": x, "y": y})


def logical_xor(x, y, name="LogicalXor"):
    with name_scope(name):
        return apply("LogicalAnd", None, {"x": apply("LogicalOr", None, {"x": x, "y": y}),
                                          "y": apply("LogicalNot", None, {"x": apply("LogicalAnd", None,
                                                                                     {"x": x, "y": y})})})


def lbeta(x, name=None):
    with name_scope(name, "lbeta", [x]):
        x = convert_to_tensor(x)
        return reduce_sum(apply("Lgamma", None, {"x": x}), -1) - apply("Lgamma", None, {"x": reduce_sum(x, -1)})


def polyval(coeffs, x, name=None):
    with name_scope(name, "polyval"):
        x = convert_to_tensor(x)
        if not coeffs:
            from .array_ops import zeros_like
            return zeros_like(x)
        p = convert_to_tensor(coeffs[0])
        for c in coeffs[1:]:
            p = c + p * x
        return p


def range(start, limit=None, delta=1, dtype=None, name="range"):
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        if dtype is not None:
            start, limit, delta = [convert_to_tensor(v, dtype) if not isinstance(v, Tensor) else cast(v, dtype)
                                   for v in (start, limit, delta)]
        else:
            start, limit, delta = [convert_to_tensor(v) for v in (start, limit, delta)]
            order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
            best = builtins.max((t.dtype.base_dtype for t in (start, limit, delta)), key=order.index)
            start, limit, delta = [cast(t, best) for t in (start, limit, delta)]
        return apply("Range", scope, {"start": start, "limit": limit, "delta": delta})


def linspace(start, stop, num, name=None):
    return apply("LinSpace", name, {"start": start, "stop": stop, "num": num})


lin_space = linspace_nd = linspace


# ---------------------------------------- reductions

def _axes(x, axis):
    if axis is not None:
        return axis
    if isinstance(x, SparseTensor):
        n = x.dense_shape.shape.dims[0].value if x.dense_shape.shape.ndims else None
        return constant(np.arange(n, dtype=np.int32), name="reduction_indices")
    n = x.shape.ndims
    if n is not None:
        return constant(np.arange(n, dtype=np.int32))
    return range(0, rank(x))


def _reduction(op, default, prepare=None):
    def function(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
        axis = deprecated_argument("axis", axis, "reduction_indices", reduction_indices)
        keepdims = deprecated_argument("keepdims", keepdims, "keep_dims", keep_dims)
        x = convert_to_tensor(input_tensor, prepare)
        return apply(op, name or default, {"input": x, "reduction_indices": _axes(x, axis),
                                           "keep_dims": builtins.bool(keepdims)})
    function.__name__ = default
    function.__doc__ = "%s over `axis`, or over everything." % op
    return function


reduce_sum, reduce_mean, reduce_prod = _reduction("Sum", "Sum"), _reduction("Mean", "Mean"), _reduction("Prod", "Prod")
reduce_max, reduce_min = _reduction("Max", "Max"), _reduction("Min", "Min")
reduce_all, reduce_any = _reduction("All", "All", dtypes.bool), _reduction("Any", "Any", dtypes.bool)
reduce_euclidean_norm = _reduction("EuclideanNorm", "EuclideanNorm")


def count_nonzero(input_tensor=None, axis=None, keepdims=None, dtype=dtypes.int64, name=None, reduction_indices=None,
                  keep_dims=None, input=None):
    axis = deprecated_argument("axis", axis, "reduction_indices", reduction_indices)
    keepdims = deprecated_argument("keepdims", keepdims, "keep_dims", keep_dims)
    with name_scope(name, "count_nonzero", [input_tensor]):
        x = convert_to_tensor(input_tensor if input_tensor is not None else input)
        zero = constant("" if x.dtype.base_dtype == dtypes.string else x.dtype.base_dtype.as_numpy_dtype(0),
                        x.dtype.base_dtype)
        return cast(reduce_sum(cast(not_equal(x, zero), dtypes.int64), axis, keepdims), dtype)


def reduce_variance(input_tensor, axis=None, keepdims=False, name=None):
    with name_scope(name, "reduce_variance"):
        x = convert_to_tensor(input_tensor)
        return reduce_mean(square(x - reduce_mean(x, axis, True)), axis, keepdims)


def reduce_std(input_tensor, axis=None, keepdims=False, name=None):
    with name_scope(name, "reduce_std"):
        return sqrt(reduce_variance(input_tensor, axis, keepdims))


def reduce_logsumexp(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    axis = deprecated_argument("axis", axis, "reduction_indices", reduction_indices)
    keepdims = deprecated_argument("keepdims", keepdims, "keep_dims", keep_dims) or False
    with name_scope(name, "ReduceLogSumExp", [input_tensor]) as scope:
        from .array_ops import stop_gradient, where, zeros_like
        x = convert_to_tensor(input_tensor)
        largest = reduce_max(x, axis, True)
        largest = stop_gradient(where(apply("IsFinite", None, {"x": largest}), largest, zeros_like(largest)))
        result = log(reduce_sum(exp(x - largest), axis, keepdims))
        if not keepdims:
            largest = reshape(largest, shape(result))
        return add(result, largest, name=scope)


def logsumexp(*args, **kwargs):
    return reduce_logsumexp(*args, **kwargs)


def trace(x, name=None):
    with name_scope(name, "Trace", [x]) as scope:
        from .array_ops import matrix_diag_part
        return reduce_sum(matrix_diag_part(x), [-1], name=scope)


def argmax(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
    axis = deprecated_argument("axis", axis, "dimension", dimension)
    return apply("ArgMax", name, {"input": input, "dimension": 0 if axis is None else axis, "output_type": output_type})


def argmin(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
    axis = deprecated_argument("axis", axis, "dimension", dimension)
    return apply("ArgMin", name, {"input": input, "dimension": 0 if axis is None else axis, "output_type": output_type})


def cumsum(x, axis=0, exclusive=False, reverse=False, name=None):
    return apply("Cumsum", name, {"x": x, "axis": axis, "exclusive": exclusive, "reverse": reverse})


def cumprod(x, axis=0, exclusive=False, reverse=False, name=None):
    return apply("Cumprod", name, {"x": x, "axis": axis, "exclusive": exclusive, "reverse": reverse})


def add_n(inputs, name=None):
    if isinstance(inputs, Tensor) or not hasattr(inputs, "__iter__") or len(inputs) == 0:
        raise ValueError("inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape")
    inputs = convert_n_to_tensor_or_indexed_slices(list(inputs))
    if len(inputs) == 1:
        values = convert_to_tensor(inputs[0])
        return identity(values, name=name) if name else values
    return apply("AddN", name, {"inputs": [convert_to_tensor(i) for i in inputs]})


def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
    if not inputs or not isinstance(inputs, (list, tuple)):
        raise ValueError("inputs must be a list of at least one Tensor with the same dtype and shape")
    return add_n(inputs, name or "AccumulateNV2")


def bincount(arr, weights=None, minlength=None, maxlength=None, dtype=dtypes.int32, name=None):
    with name_scope(name, "bincount"):
        arr = convert_to_tensor(arr, name="arr", dtype=dtypes.int32)
        nonempty = reduce_prod(shape(arr)) > 0
        size = cast(nonempty, dtypes.int32) * (reduce_max(arr) + 1)
        if minlength is not None:
            size = maximum(convert_to_tensor(minlength, dtypes.int32), size)
        if maxlength is not None:
            size = minimum(convert_to_tensor(maxlength, dtypes.int32), size)
        weights = convert_to_tensor(weights) if weights is not None else constant([], dtype)
        return apply("Bincount", None, {"arr": arr, "size": size, "weights": weights})


# ---------------------------------------- products

def matmul(a, b, transpose_a=False, transpose_b=False, adjoint_a=False, adjoint_b=False, a_is_sparse=False,
           b_is_sparse=False, name=None):
    """Products of matrices, the last two dimensions; the others are batches."""
    with name_scope(name, "MatMul", [a, b]) as scope:
        if transpose_a and adjoint_a:
            raise ValueError("Only one of transpose_a and adjoint_a can be True.")
        if transpose_b and adjoint_b:
            raise ValueError("Only one of transpose_b and adjoint_b can be True.")
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, a.dtype.base_dtype if not isinstance(b, Tensor) else None, name="b")
        n, m = a.shape.ndims, b.shape.ndims
        if (n is None or n > 2) or (m is None or m > 2):
            if transpose_a:
                a, adjoint_a = conj(a), True
            if transpose_b:
                b, adjoint_b = conj(b), True
            return apply("BatchMatMulV2", scope, {"x": a, "y": b, "adj_x": adjoint_a, "adj_y": adjoint_b})
        if adjoint_a:
            a, transpose_a = conj(a), True
        if adjoint_b:
            b, transpose_b = conj(b), True
        return apply("MatMul", scope, {"a": a, "b": b, "transpose_a": builtins.bool(transpose_a),
                                       "transpose_b": builtins.bool(transpose_b)})


def batch_matmul(x, y, adj_x=False, adj_y=False, name=None):
    return apply("BatchMatMulV2", name, {"x": x, "y": y, "adj_x": adj_x, "adj_y": adj_y})


def matvec(a, b, transpose_a=False, adjoint_a=False, a_is_sparse=False, b_is_sparse=False, name=None):
    with name_scope(name, "MatVec", [a, b]):
        return matmul(a, expand_dims(b, -1), transpose_a=transpose_a, adjoint_a=adjoint_a)[..., 0]


def sparse_matmul(a, b, transpose_a=False, transpose_b=False, a_is_sparse=False, b_is_sparse=False, name=None):
    return apply("SparseMatMul", name, {"a": a, "b": b, "transpose_a": transpose_a, "transpose_b": transpose_b,
                                        "a_is_sparse": a_is_sparse, "b_is_sparse": b_is_sparse})


def tensordot(a, b, axes, name=None):
    """Sums of products over the axes given: a number of them, or two lists."""
    with name_scope(name, "Tensordot", [a, b, axes]) as scope:
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, a.dtype.base_dtype if not isinstance(b, Tensor) else None, name="b")
        a_axes, b_axes = _tensordot_axes(a, axes)
        x, a_free, a_static = _tensordot_matrix(a, a_axes, False)
        y, b_free, b_static = _tensordot_matrix(b, b_axes, True)
        product = matmul(x, y)
        if isinstance(a_free, list) and isinstance(b_free, list):
            if not a_free and not b_free:
                return reshape(product, [], name=scope)
            return reshape(product, a_free + b_free, name=scope)
        parts = [convert_to_tensor(p, dtypes.int32) for p in (a_free, b_free)]
        result = reshape(product, concat(parts, 0), name=scope)
        if a_static is not None and b_static is not None:
            result.set_shape(a_static + b_static)
        return result


def _tensordot_axes(a, axes):
    if isinstance(axes, (int, np.integer)):
        if axes < 0:
            raise ValueError("'axes' must be at least 0.")
        n = a.shape.ndims
        if n is None:
            raise ValueError("tensordot needs the rank of 'a' where axes is a number")
        return list(builtins.range(n - axes, n)), list(builtins.range(axes))
    first, second = axes
    first = [first] if isinstance(first, (int, np.integer)) else [int(i) for i in first]
    second = [second] if isinstance(second, (int, np.integer)) else [int(i) for i in second]
    if len(first) != len(second):
        raise ValueError("Different number of contraction axes 'a' and 'b', %s != %s." % (len(first), len(second)))
    return first, second


def _tensordot_unknown(t, axes, axes_first):
    """_tensordot_matrix of a tensor whose rank is not known."""
    from .array_ops import gather, setdiff1d, size, stack
    dims = shape(t)
    rank = size(dims)
    axes = stack([rank + i if i < 0 else constant(i, dtypes.int32) for i in axes]) if axes else constant([], dtypes.int32)
    free = setdiff1d(range(rank), axes)[0]
    free_dims = gather(dims, free)
    n_free, n_sum = reduce_prod(free_dims), reduce_prod(gather(dims, axes))
    perm = concat([axes, free] if axes_first else [free, axes], 0)
    return reshape(transpose(t, perm), stack([n_sum, n_free] if axes_first else [n_free, n_sum])), free_dims, None


def _tensordot_matrix(t, axes, axes_first):
    if t.shape.ndims is None:
        return _tensordot_unknown(t, axes, axes_first)
    known = t.shape.as_list()
    axes = [i + len(known) if i < 0 else i for i in axes]
    free = [i for i in builtins.range(len(known)) if i not in axes]
    perm = axes + free if axes_first else free + axes
    free_dims = [known[i] for i in free]
    if t.shape.is_fully_defined():
        n_free = int(np.prod(free_dims)) if free_dims else 1
        n_sum = int(np.prod([known[i] for i in axes])) if axes else 1
        new = [n_sum, n_free] if axes_first else [n_free, n_sum]
        moved = t if perm == list(builtins.range(len(known))) else transpose(t, perm)
        return reshape(moved, new), free_dims, free_dims
    dims = shape(t)
    from .array_ops import gather, stack
    free_tensor = gather(dims, constant(free, dtypes.int32)) if free else constant([], dtypes.int32)
    n_free = reduce_prod(free_tensor)
    n_sum = reduce_prod(gather(dims, constant(axes, dtypes.int32))) if axes else constant(1)
    new = stack([n_sum, n_free] if axes_first else [n_free, n_sum])
    matrix = reshape(transpose(t, perm), new)
    if all(d is not None for d in free_dims):
        return matrix, free_dims, free_dims
    return matrix, free_tensor, free_dims


def einsum(equation, *inputs, **kwargs):
    """Sums of products by indices, "ij,jk->ik"."""
    name = kwargs.pop("name", None)
    kwargs.pop("optimize", None)
    if kwargs:
        raise TypeError("invalid keyword arguments for this function: %s" % ", ".join(kwargs))
    inputs = list(inputs[0]) if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) else list(inputs)
    inputs, equation = _pairwise([convert_to_tensor(i) for i in inputs], _explicit(equation.replace(" ", "")))
    return apply("Einsum", name or "einsum", {"inputs": inputs, "equation": equation})


def _pairwise(inputs, equation):
    """The op takes two at most: of more the first two are joined, over what neither the others nor the result has."""
    terms, result = equation.split("->")
    terms = terms.split(",")
    while len(inputs) > 2 and len(inputs) == len(terms):
        rest = "".join(terms[2:]) + result
        kept = "".join(sorted(c for c in set(terms[0] + terms[1]) - {"."} if c in rest))
        kept = ("..." if "..." in terms[0] + terms[1] else "") + kept
        both = apply("Einsum", None, {"inputs": inputs[:2], "equation": "%s,%s->%s" % (terms[0], terms[1], kept)})
        inputs, terms = [both] + inputs[2:], [kept] + terms[2:]
    return inputs, ",".join(terms) + "->" + result


def _explicit(equation):
    if "->" in equation:
        return equation
    letters = equation.replace(",", "").replace("...", "")
    return equation + "->" + ("..." if "..." in equation else "") + "".join(
        sorted(c for c in set(letters) if letters.count(c) == 1))


# ---------------------------------------- segments

def unsorted_segment_mean(data, segment_ids, num_segments, name=None):
    with name_scope(name, "UnsortedSegmentMean"):
        n = _segment_counts(data, segment_ids, num_segments)
        return apply("UnsortedSegmentSum", None, {"data": data, "segment_ids": segment_ids,
                                                  "num_segments": num_segments}) / n


def unsorted_segment_sqrt_n(data, segment_ids, num_segments, name=None):
    with name_scope(name, "UnsortedSegmentSqrtN"):
        n = _segment_counts(data, segment_ids, num_segments)
        return apply("UnsortedSegmentSum", None, {"data": data, "segment_ids": segment_ids,
                                                  "num_segments": num_segments}) / sqrt(n)


def _segment_counts(data, segment_ids, num_segments):
    from .array_ops import ones_like
    data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
    n = apply("UnsortedSegmentSum", None, {"data": ones_like(segment_ids, data.dtype), "segment_ids": segment_ids,
                                           "num_segments": num_segments})
    for _ in builtins.range(data.shape.ndims - segment_ids.shape.ndims):
        n = expand_dims(n, -1)
    return maximum(n, constant(1, data.dtype))


def _sparse_segment(op):
    def function(data, indices, segment_ids, name=None, num_segments=None):
        values = {"data": data, "indices": indices, "segment_ids": segment_ids}
        if num_segments is not None:
            values["num_segments"] = num_segments
            return apply(op + "WithNumSegments", name, values)
        return apply(op, name, values)
    return function


sparse_segment_sum, sparse_segment_mean = _sparse_segment("SparseSegmentSum"), _sparse_segment("SparseSegmentMean")
sparse_segment_sqrt_n = _sparse_segment("SparseSegmentSqrtN")


def nextafter(x1, x2, name=None):
    return apply("NextAfter", name, {"x1": x1, "x2": x2})


def argsort(values, axis=-1, direction="ASCENDING", stable=False, name=None):
    return _sorted(values, axis, direction, name or "argsort", 1)


def sort(values, axis=-1, direction="ASCENDING", name=None):
    return _sorted(values, axis, direction, name or "sort", 0)


def _sorted(values, axis, direction, name, which):
    with name_scope(name):
        values = convert_to_tensor(values)
        n = values.shape.ndims
        axis = axis + n if axis < 0 else axis
        perm = [i for i in builtins.range(n) if i != axis] + [axis]
        moved = values if axis == n - 1 else transpose(values, perm)
        sign_ = -1 if direction == "ASCENDING" else 1
        found = apply("TopKV2", None, {"input": moved if sign_ > 0 else -moved, "k": shape(moved)[-1]})[which]
        found = found if which or sign_ > 0 else -found
        if axis == n - 1:
            return found
        back = [0] * n
        for i, p in enumerate(perm):
            back[p] = i
        return transpose(found, back)


# ---------------------------------------- operators

def _scope_values(op, x, y):
    return [v for v in (x, y) if isinstance(v, Tensor)]


def _operator(function, default):
    def left(x, y):
        with name_scope(None, default, [x]) as scope:
            if not isinstance(y, SparseTensor):
                try:
                    y = convert_to_tensor(y, dtype=None if isinstance(y, Tensor) or hasattr(y, "_as_graph_tensor")
                                          else x.dtype.base_dtype, name="y")
                except TypeError:
                    if hasattr(type(y), "__r%s__" % default) and not isinstance(y, (int, float, np.generic)):
                        return NotImplemented
                    raise
            return function(x, y, name=scope)

    def right(y, x):
        with name_scope(None, default, [y]) as scope:
            return function(convert_to_tensor(x, dtype=y.dtype.base_dtype, name="x"), y, name=scope)
    return left, right


def _mul(x, y, name=None):
    if isinstance(y, SparseTensor):
        values = apply("SparseDenseCwiseMul", name, {"sp_indices": y.indices, "sp_values": y.values,
                                                     "sp_shape": y.dense_shape, "dense": x})
        return SparseTensor(y.indices, values, y.dense_shape)
    return apply("Mul", name, {"x": x, "y": y})


def _logical(op, bitwise):
    def function(x, y, name=None):
        return apply(op if x.dtype.base_dtype == dtypes.bool else bitwise, name, {"x": x, "y": y})
    return function


def _xor(x, y, name=None):
    return logical_xor(x, y) if x.dtype.base_dtype == dtypes.bool else apply("BitwiseXor", name, {"x": x, "y": y})


OPERATORS = {   # name: (function, the reversed one)
    "add": _operator(lambda x, y, name: apply("Add" if x.dtype.base_dtype == dtypes.string else "AddV2", name,
                                              {"x": x, "y": y}), "add"),
    "sub": _operator(subtract, "sub"), "mul": _operator(_mul, "mul"), "div": _operator(div, "div"),
    "truediv": _operator(truediv, "truediv"), "floordiv": _operator(floor_div, "floordiv"),
    "mod": _operator(floormod, "mod"), "pow": _operator(lambda x, y, name: apply("Pow", name, {"x": x, "y": y}), "pow"),
    "and": _operator(_logical("LogicalAnd", "BitwiseAnd"), "and"),
    "or": _operator(_logical("LogicalOr", "BitwiseOr"), "or"), "xor": _operator(_xor, "xor"),
    "matmul": _operator(matmul, "matmul"),
}


def _compare(op):
    def method(x, y):
        return apply(op, None, {"x": x, "y": y})
    return method


COMPARISONS = {"lt": _compare("Less"), "le": _compare("LessEqual"), "gt": _compare("Greater"),
               "ge": _compare("GreaterEqual")}
for _name, (_left, _right) in OPERATORS.items():
    Tensor._override_operator("__%s__" % _name, _left)
    Tensor._override_operator("__r%s__" % _name, _right)
for _name, _function in COMPARISONS.items():
    Tensor._override_operator("__%s__" % _name, _function)
Tensor._override_operator("__neg__", lambda x: negative(x))
Tensor._override_operator("__abs__", lambda x: abs(x))
Tensor._override_operator("__invert__", lambda x: apply("LogicalNot" if x.dtype.base_dtype == dtypes.bool else
                                                        "Invert", None, {"x": x}))


def _sparse_by_dense(op):
    def method(self, y):
        values = apply(op, None, {"sp_indices": self.indices, "sp_values": self.values, "sp_shape": self.dense_shape,
                                  "dense": convert_to_tensor(y, self.dtype.base_dtype)})
        return SparseTensor(self.indices, values, self.dense_shape)
    return method


SparseTensor.__mul__ = _sparse_by_dense("SparseDenseCwiseMul")
SparseTensor.__div__ = SparseTensor.__truediv__ = _sparse_by_dense("SparseDenseCwiseDiv")


# ---------------------------------------- clipping

def clip_by_value(t, clip_value_min, clip_value_max, name=None):
    with name_scope(name, "clip_by_value", [t, clip_value_min, clip_value_max]) as scope:
        values = convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name="t")
        low = minimum(values, clip_value_max)
        values.shape.merge_with(low.shape)
        result = maximum(low, clip_value_min, name=scope)
        return IndexedSlices(result, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else result


def clip_by_norm(t, clip_norm, axes=None, name=None):
    """t, shortened where its norm is larger than clip_norm."""
    with name_scope(name, "clip_by_norm", [t, clip_norm]) as scope:
        from .array_ops import ones_like, where
        values = convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name="t")
        squares = reduce_sum(values * values, axes, keepdims=True)
        positive = squares > 0
        safe = where(positive, squares, ones_like(squares))
        norm = where(positive, sqrt(safe), squares)
        result = identity(values * clip_norm / maximum(norm, convert_to_tensor(clip_norm, values.dtype.base_dtype)),
                          name=scope)
        return IndexedSlices(result, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else result


def global_norm(t_list, name=None):
    """The square root of the sum of all squares of all tensors; None are left out."""
    if isinstance(t_list, Tensor) or not hasattr(t_list, "__iter__"):
        raise TypeError("t_list should be a sequence")
    with name_scope(name, "global_norm", [t for t in t_list if t is not None]) as scope:
        values = [convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t) for t in t_list if t is not None]
        halves = [apply("L2Loss", None, {"t": v}) for v in values]
        half = reduce_sum(apply("Pack", "stack", {"values": halves, "axis": 0}))
        return sqrt(half * constant(2.0, half.dtype), name="global_norm")


def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """(tensors shortened together so that their global norm is at most clip_norm, the norm before)."""
    if isinstance(t_list, Tensor) or not hasattr(t_list, "__iter__"):
        raise TypeError("t_list should be a sequence")
    t_list = list(t_list)
    if use_norm is None:
        use_norm = global_norm(t_list, name)
    with name_scope(name, "clip_by_global_norm", [t for t in t_list if t is not None] + [clip_norm]):
        scale = clip_norm * minimum(1.0 / use_norm, constant(1.0, use_norm.dtype) / clip_norm)
        from .array_ops import where
        nan = constant(float("nan"), use_norm.dtype)
        scale = where(apply("IsFinite", None, {"x": use_norm}), scale, nan)
        out = []
        for i, t in enumerate(t_list):
            if t is None:
                out.append(None)
                continue
            v = t.values if isinstance(t, IndexedSlices) else convert_to_tensor(t)
            clipped = v * scale
            out.append(IndexedSlices(clipped, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else
                       identity(clipped, name="clip_by_global_norm_%d" % i))
        return out, use_norm


def clip_by_average_norm(t, clip_norm, name=None):
    with name_scope(name, "clip_by_average_norm", [t, clip_norm]) as scope:
        t = convert_to_tensor(t)
        n = cast(reduce_prod(shape(t)), t.dtype)
        inverse = apply("Rsqrt", None, {"x": reduce_sum(t * t, _axes(t, None))})
        return identity(t * clip_norm * minimum(inverse * n, constant(1.0, t.dtype) / clip_norm), name=scope)


def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None, keep_dims=None):
    """The norm of vectors or matrices: "euclidean", "fro", a number, infinity."""
    keepdims = deprecated_argument("keepdims", keepdims, "keep_dims", keep_dims) or False
    is_matrix = isinstance(axis, (list, tuple)) and len(axis) == 2
    if isinstance(axis, (list, tuple)) and len(axis) == 1:
        axis = axis[0]
    with name_scope(name, "norm", [tensor]):
        x = convert_to_tensor(tensor)
        if ord in ("fro", "euclidean", 2, 2.0) and not (is_matrix and ord in (2, 2.0)):
            return sqrt(reduce_sum(x * conj(x), axis, keepdims))
        x = abs(x)
        if ord == 1:
            if is_matrix:
                return reduce_max(reduce_sum(x, axis[0], True), axis, keepdims)
            return reduce_sum(x, axis, keepdims)
        if ord == np.inf:
            if is_matrix:
                return reduce_max(reduce_sum(x, axis[1], True), axis, keepdims)
            return reduce_max(x, axis, keepdims)
        if isinstance(ord, (int, float)) and ord > 0 and not is_matrix:
            return pow(reduce_sum(pow(x, ord), axis, keepdims), 1.0 / ord)
        raise ValueError("'ord' must be a supported vector norm, got %s" % (ord,))
