"""array_ops — making, shaping, slicing and joining tensors, as Python programs call it."""
import builtins

import numpy as np

from . import constant as constants
from . import dtypes, tensor_shape
from .constant import constant, constant_value
from .convert import _holds_tensor, convert_to_tensor
from .graph import Tensor, get_default_graph, name_scope
from .indexed import IndexedSlices, SparseTensor
from .ops_apply import apply

newaxis = None
_slice_type = builtins.slice


def deprecated_argument(new, value, old, old_value):
    """The value of an argument that has two names. ValueError where both are given."""
    if old_value is not None:
        if value is not None:
            raise ValueError("Cannot specify both '%s' and '%s'" % (old, new))
        return old_value
    return value


def placeholder(dtype, shape=None, name=None):
    """A tensor whose value is fed when the graph runs."""
    return apply("Placeholder", name, {"dtype": dtype, "shape": tensor_shape.TensorShape(shape)})


def placeholder_with_default(input, shape, name=None):
    return apply("PlaceholderWithDefault", name, {"input": input, "shape": tensor_shape.TensorShape(shape)})


def sparse_placeholder(dtype, shape=None, name=None):
    """A SparseTensor whose parts are fed together."""
    rank = None
    dense = None
    if shape is not None:
        if isinstance(shape, Tensor):
            dense = shape
        else:
            dims = [-1 if d is None else int(d) for d in tensor_shape.TensorShape(shape).as_list()]
            rank = len(dims)
            if -1 not in dims:
                dense = convert_to_tensor(np.array(dims, np.int64), name=name + "/shape" if name else None)
    if dense is None:
        dense = placeholder(dtypes.int64, shape=[rank], name=name + "/shape" if name else None)
    return SparseTensor(values=placeholder(dtype, shape=[None], name=name + "/values" if name else None),
                        indices=placeholder(dtypes.int64, shape=[None, rank], name=name + "/indices" if name else None),
                        dense_shape=dense)


def identity(input, name=None):
    if isinstance(input, IndexedSlices):
        return IndexedSlices(identity(input.values, name), identity(input.indices), input.dense_shape)
    return apply("Identity", name, {"input": input})


def shape(input, name=None, out_type=dtypes.int32):
    """The shape as a tensor; a constant where it is known."""
    return shape_internal(input, name, optimize=True, out_type=out_type)


def shape_internal(input, name=None, optimize=True, out_type=dtypes.int32):
    out_type = dtypes.as_dtype(out_type)
    with name_scope(name, "Shape", [input]) as scope:
        if isinstance(input, SparseTensor):
            return apply("Cast", scope, {"x": input.dense_shape, "DstT": out_type})
        input = convert_to_tensor(input)
        known = input.shape
        if optimize and known.is_fully_defined():
            return constant(np.array(known.as_list(), out_type.as_numpy_dtype), out_type, name=scope)
        return apply("Shape", scope, {"input": input, "out_type": out_type})


def shape_n(input, out_type=dtypes.int32, name=None):
    return apply("ShapeN", name, {"input": input, "out_type": out_type})


def size(input, name=None, out_type=dtypes.int32):
    out_type = dtypes.as_dtype(out_type)
    with name_scope(name, "Size", [input]) as scope:
        if isinstance(input, SparseTensor):
            from .math_ops import reduce_prod
            return reduce_prod(apply("Cast", None, {"x": input.dense_shape, "DstT": out_type}), 0, name=scope)
        input = convert_to_tensor(input)
        known = input.shape
        if known.is_fully_defined():
            return constant(known.num_elements(), out_type, name=scope)
        return apply("Size", scope, {"input": input, "out_type": out_type})


def rank(input, name=None):
    return rank_internal(input, name)


def rank_internal(input, name=None, optimize=True):
    with name_scope(name, "Rank", [input]) as scope:
        if isinstance(input, SparseTensor):
            return size(input.dense_shape, name=scope)
        input = convert_to_tensor(input)
        if optimize and input.shape.ndims is not None:
            return constant(input.shape.ndims, dtypes.int32, name=scope)
        return apply("Rank", scope, {"input": input})


def reshape(tensor, shape, name=None):
    return apply("Reshape", name, {"tensor": tensor, "shape": shape})


def expand_dims(input, axis=None, name=None, dim=None):
    axis = deprecated_argument("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return apply("ExpandDims", name, {"input": input, "dim": axis})


def squeeze(input, axis=None, name=None, squeeze_dims=None):
    axis = deprecated_argument("axis", axis, "squeeze_dims", squeeze_dims)
    axis = [] if axis is None else [int(axis)] if np.isscalar(axis) or not hasattr(axis, "__iter__") else \
        [int(a) for a in axis]
    return apply("Squeeze", name, {"input": input, "squeeze_dims": axis})


def transpose(a, perm=None, name="transpose", conjugate=False):
    with name_scope(name, "transpose", [a]) as scope:
        op = "ConjugateTranspose" if conjugate and convert_to_tensor(a).dtype.is_complex else "Transpose"
        if perm is not None:
            return apply(op, scope, {"x": a, "perm": perm})
        a = convert_to_tensor(a, name="a")
        if a.shape.ndims is not None:
            perm = constant(np.arange(a.shape.ndims - 1, -1, -1, dtype=np.int32), name="perm")
        else:
            r = rank(a)
            perm = (r - 1) - apply("Range", None, {"start": 0, "limit": r, "delta": 1})
        return apply(op, scope, {"x": a, "perm": perm})


def matrix_transpose(a, name="matrix_transpose", conjugate=False):
    with name_scope(name, "transpose", [a]) as scope:
        a = convert_to_tensor(a, name="a")
        n = a.shape.ndims
        if n is not None:
            if n < 2:
                raise ValueError("Argument 'a' should be a (batch) matrix, with rank >= 2.  Found: %s" % a.shape)
            perm = list(range(n - 2)) + [n - 1, n - 2]
        else:
            r = rank(a)
            perm = concat([apply("Range", None, {"start": 0, "limit": r - 2, "delta": 1}), [r - 1, r - 2]], 0)
        return transpose(a, perm, scope, conjugate)


def concat(values, axis=None, name="concat", concat_dim=None):
    """The tensors one behind the other along an axis."""
    axis = deprecated_argument("axis", axis, "concat_dim", concat_dim)
    if isinstance(axis, (list, tuple)) and isinstance(values, (int, np.integer)):
        values, axis = axis, values   # as before 1.0
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        with name_scope(name) as scope:
            convert_to_tensor(axis, name="concat_dim", dtype=dtypes.int32)
            return identity(values[0], name=name)
    return apply("ConcatV2", name, {"values": list(values), "axis": axis})


def stack(values, axis=0, name="stack"):
    if axis == 0 and not isinstance(values, Tensor) and not _holds_tensor(values):
        try:
            return convert_to_tensor(constants.to_array(values)[0], name=name)
        except (TypeError, ValueError):
            pass
    values = list(values) if isinstance(values, (list, tuple)) else values
    return apply("Pack", name, {"values": values, "axis": axis})


def parallel_stack(values, name="parallel_stack"):
    return stack(values, name=name)


def unstack(value, num=None, axis=0, name="unstack"):
    if num is None:
        value = convert_to_tensor(value)
        known = value.shape
        if known.ndims is not None:
            if axis < -known.ndims or axis >= known.ndims:
                raise ValueError("axis = %d not in [%d, %d)" % (axis, -known.ndims, known.ndims))
            num = known.dims[axis].value
    if num is None:
        raise ValueError("Cannot infer num from shape %s" % value.shape)
    return apply("Unpack", name, {"value": value, "num": int(num), "axis": axis})


def split(value, num_or_size_splits, axis=0, num=None, name="split"):
    """Parts along an axis: so many equal ones, or of these sizes."""
    if isinstance(num_or_size_splits, tensor_shape.Dimension):
        num_or_size_splits = num_or_size_splits.value
    if isinstance(num_or_size_splits, (int, np.integer)):
        return apply("Split", name, {"split_dim": axis, "num_split": int(num_or_size_splits), "value": value})
    sizes = convert_to_tensor(num_or_size_splits)
    if sizes.shape.ndims == 0:
        raise ValueError("Rank-0 tensors are not supported as the num_or_size_splits argument to split. Argument provided: %s"
                         % (num_or_size_splits,))
    if num is None:
        num = sizes.shape.dims[0].value if sizes.shape.ndims else None
        if num is None:
            raise ValueError("Cannot infer num from shape %s" % num_or_size_splits)
    return apply("SplitV", name, {"value": value, "size_splits": sizes, "split_dim": axis, "num_split": num})


def slice(input_, begin, size, name=None):
    return apply("Slice", name, {"input": input_, "begin": begin, "size": size})


def strided_slice(input_, begin, end, strides=None, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0,
                  shrink_axis_mask=0, var=None, name=None):
    if strides is None:
        strides = ones_like(begin)
    result = apply("StridedSlice", name, {
        "input": input_, "begin": begin, "end": end, "strides": strides, "begin_mask": begin_mask,
        "end_mask": end_mask, "ellipsis_mask": ellipsis_mask, "new_axis_mask": new_axis_mask,
        "shrink_axis_mask": shrink_axis_mask})
    if var is not None:
        def assign(val, name=None):
            return var._strided_slice_assign(begin, end, strides, val, begin_mask, end_mask, ellipsis_mask,
                                             new_axis_mask, shrink_axis_mask, name)
        result.assign = assign
    return result


def _is_index(value):
    return isinstance(value, (int, np.integer, tensor_shape.Dimension)) and not isinstance(value, bool) or \
        isinstance(value, Tensor) and value.dtype.is_integer or isinstance(value, np.ndarray) and value.ndim == 0 \
        or hasattr(value, "_as_graph_tensor")


def _slice_helper(tensor, slice_spec, var=None):
    """tensor[...]: ints, slices, `...`, newaxis, and tensors as bounds."""
    if isinstance(slice_spec, (list, tuple)) and not any(
            isinstance(s, _slice_type) or s is Ellipsis or s is None for s in slice_spec) and \
            isinstance(slice_spec, list) and slice_spec and isinstance(slice_spec[0], bool):
        return boolean_mask(tensor, slice_spec)
    if isinstance(slice_spec, Tensor) and slice_spec.dtype == dtypes.bool or \
            isinstance(slice_spec, np.ndarray) and slice_spec.dtype == bool:
        return boolean_mask(tensor, slice_spec)
    if not isinstance(slice_spec, (list, tuple)):
        slice_spec = [slice_spec]
    begin, end, strides = [], [], []
    masks = {"begin_mask": 0, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 0}
    for i, s in enumerate(slice_spec):
        bit = 1 << i
        if isinstance(s, _slice_type):
            begin.append(0 if s.start is None else s.start)
            end.append(0 if s.stop is None else s.stop)
            strides.append(1 if s.step is None else s.step)
            masks["begin_mask"] |= bit if s.start is None else 0
            masks["end_mask"] |= bit if s.stop is None else 0
        elif s is Ellipsis:
            begin.append(0), end.append(0), strides.append(1)
            masks["ellipsis_mask"] |= bit
        elif s is None:
            begin.append(0), end.append(0), strides.append(1)
            masks["new_axis_mask"] |= bit
        elif _is_index(s):
            begin.append(s)
            end.append(s + 1)
            strides.append(1)
            masks["shrink_axis_mask"] |= bit
        else:
            raise TypeError("Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/"
                            "tf.int64 tensors are valid indices, got %r" % (s,))
    with name_scope(None, "strided_slice", [tensor], ) as scope:
        if begin:
            begin, end, strides = _bounds(begin), _bounds(end), _bounds(strides)
            if len({b.dtype for b in (begin, end, strides)}) > 1:
                begin, end, strides = [apply("Cast", None, {"x": b, "DstT": dtypes.int64}) for b in (begin, end, strides)]
        else:
            begin = end = strides = constant([], dtypes.int32)
        return strided_slice(tensor, begin, end, strides, var=var, name=scope, **masks)


def _bounds(values):
    values = [v.value if isinstance(v, tensor_shape.Dimension) else v for v in values]
    tensors = [v for v in values if not isinstance(v, (int, np.integer))]
    if not tensors:
        wide = any(not -2 ** 31 <= int(v) < 2 ** 31 for v in values)
        return constant([int(v) for v in values], dtypes.int64 if wide else dtypes.int32, name="stack")
    wide = any(convert_to_tensor(t).dtype == dtypes.int64 for t in tensors)
    kind = dtypes.int64 if wide else dtypes.int32
    values = [v if isinstance(v, (int, np.integer)) or v.dtype.base_dtype == kind else
              apply("Cast", None, {"x": v, "DstT": kind}) for v in values]
    return apply("Pack", "stack", {"values": [convert_to_tensor(v, kind) for v in values], "axis": 0})


def _tensor_shape_argument(shape, name=None):
    if isinstance(shape, Tensor):
        return shape
    if isinstance(shape, tensor_shape.TensorShape):
        shape = shape.as_list()
    if isinstance(shape, (int, np.integer, tensor_shape.Dimension)):
        shape = [int(shape)]
    return convert_to_tensor(shape, None if isinstance(shape, np.ndarray) or len(shape) else dtypes.int32, name)


def _filled(value, shape, dtype, name, default):
    dtype = dtypes.as_dtype(dtype).base_dtype
    with name_scope(name, default, [shape]) as scope:
        zero = {"zeros": {dtypes.bool: False, dtypes.string: ""}, "ones": {dtypes.bool: True}}[default].get(
            dtype, dtype.as_numpy_dtype(value) if dtype._number != 7 else "")
        known = None
        if not isinstance(shape, Tensor):
            try:
                known = tensor_shape.as_shape(shape)
            except (TypeError, ValueError):
                known = None
        if known is not None and known.is_fully_defined() and known.num_elements() < 1000:
            return constant(zero, shape=known, dtype=dtype, name=scope)
        shape = convert_to_tensor(_tensor_shape_argument(shape))
        if shape.shape.ndims == 0:
            shape = reshape(shape, [1])
        return apply("Fill", scope, {"dims": shape, "value": constant(zero, dtype)})


def zeros(shape, dtype=dtypes.float32, name=None):
    """A tensor of zeros, or of False or empty strings."""
    return _filled(0, shape, dtype, name, "zeros")


def ones(shape, dtype=dtypes.float32, name=None):
    return _filled(1, shape, dtype, name, "ones")


def fill(dims, value, name=None):
    return apply("Fill", name, {"dims": dims, "value": value})


def zeros_like(tensor, dtype=None, name=None, optimize=True):
    with name_scope(name, "zeros_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        dtype = dtypes.as_dtype(dtype).base_dtype if dtype is not None else tensor.dtype.base_dtype
        if tensor.dtype == dtypes.variant:
            return apply("ZerosLike", scope, {"x": tensor})
        if optimize and tensor.shape.is_fully_defined():
            return zeros(tensor.shape, dtype, name=scope)
        if dtype != tensor.dtype.base_dtype:
            return zeros(shape_internal(tensor, optimize=optimize), dtype, name=scope)
        return apply("ZerosLike", scope, {"x": tensor})


def ones_like(tensor, dtype=None, name=None, optimize=True):
    with name_scope(name, "ones_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        result = ones(shape_internal(tensor, optimize=optimize), dtype or tensor.dtype.base_dtype, name=scope)
        if not result.shape.is_fully_defined():
            result.set_shape(tensor.shape)
        return result


def tile(input, multiples, name=None):
    return apply("Tile", name, {"input": input, "multiples": multiples})


def pad(tensor, paddings, mode="CONSTANT", name=None, constant_values=0):
    mode = mode.upper()
    if mode == "CONSTANT":
        if not isinstance(constant_values, Tensor) and np.ndim(constant_values) == 0 and constant_values == 0:
            return apply("Pad", name, {"input": tensor, "paddings": paddings})
        return apply("PadV2", name, {"input": tensor, "paddings": paddings, "constant_values": constant_values})
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ValueError("Unknown padding mode: %s" % mode)
    return apply("MirrorPad", name, {"input": tensor, "paddings": paddings, "mode": mode})


def gather(params, indices, validate_indices=None, name=None, axis=None, batch_dims=0):
    """The slices of `params` at `indices` along an axis."""
    axis = batch_dims if axis is None else axis
    if not isinstance(axis, Tensor) and axis == 0 and batch_dims == 0:
        sparse_read = getattr(params, "sparse_read", None)
        if sparse_read is not None:
            return sparse_read(indices, name=name)
    return apply("GatherV2", name, {"params": params, "indices": indices, "axis": axis, "batch_dims": batch_dims})


def batch_gather(params, indices, name=None):
    indices = convert_to_tensor(indices)
    return gather(params, indices, name=name, batch_dims=indices.shape.ndims - 1, axis=indices.shape.ndims - 1)


def gather_nd(params, indices, name=None, batch_dims=0):
    params = convert_to_tensor(params)
    indices = convert_to_tensor(indices)
    if batch_dims == 0:
        return apply("GatherNd", name, {"params": params, "indices": indices})
    return _batched_gather_nd(params, indices, batch_dims, name)


def _batched_gather_nd(params, indices, batch_dims, name):
    with name_scope(name, "BatchGatherNd", [params, indices]):
        outer = unstack(shape(indices))[:batch_dims]
        grids = meshgrid(*[apply("Range", None, {"start": 0, "limit": d, "delta": 1}) for d in outer], indexing="ij") \
            if batch_dims > 1 else [apply("Range", None, {"start": 0, "limit": outer[0], "delta": 1})]
        inner = indices.shape.ndims - batch_dims - 1
        wide = []
        for g in grids:
            for _ in range(inner + 1):
                g = expand_dims(g, -1)
            g = apply("Cast", None, {"x": g, "DstT": indices.dtype})
            wide.append(apply("BroadcastTo", None, {"input": g, "shape": concat([shape(indices)[:-1], [1]], 0)}))
        return apply("GatherNd", None, {"params": params, "indices": concat(wide + [indices], -1)})


def boolean_mask(tensor, mask, name="boolean_mask", axis=None):
    """The elements, or rows, where the mask is true."""
    with name_scope(name, "boolean_mask", [tensor, mask]):
        tensor = convert_to_tensor(tensor, name="tensor")
        mask = convert_to_tensor(mask, name="mask")
        n = mask.shape.ndims
        if n == 0:
            raise ValueError("mask cannot be scalar.")
        if n is None:
            raise ValueError("Number of mask dimensions must be specified, even if some dimensions are None.  E.g. "
                             "shape=[None] is ok, but shape=None is not.")
        axis = 0 if axis is None else int(constant_value(axis) if isinstance(axis, Tensor) else axis)
        if axis < 0:
            axis += tensor.shape.ndims
        tensor.shape[axis:axis + n].assert_is_compatible_with(mask.shape)
        known = shape(tensor)
        lead = apply("Prod", None, {"input": known[axis:axis + n], "reduction_indices": [0]})
        flat_shape = concat([known[:axis], [lead], known[axis + n:]], 0)
        static = tensor.shape
        flat = reshape(tensor, flat_shape)
        first = static[axis:axis + n].num_elements()
        if static.ndims is not None:
            flat.set_shape(static[:axis].concatenate([first]).concatenate(static[axis + n:]))
        index = squeeze(apply("Where", None, {"input": reshape(mask, [-1])}), axis=[1])
        return gather(flat, index, axis=axis)


def where(condition, x=None, y=None, name=None):
    if x is None and y is None:
        with name_scope(name, "Where", [condition]) as scope:
            return apply("Where", scope, {"input": convert_to_tensor(condition, dtypes.bool)})
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return apply("Select", name, {"condition": condition, "t": x, "e": y})


def where_v2(condition, x=None, y=None, name=None):
    if x is None and y is None:
        return where(condition, name=name)
    return apply("SelectV2", name, {"condition": condition, "t": x, "e": y})


def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
    with name_scope(name, "one_hot", [indices, depth]) as scope:
        if dtype is None:
            given = [v for v in (on_value, off_value) if v is not None]
            dtype = convert_to_tensor(given[0]).dtype.base_dtype if given else dtypes.float32
        on_value = convert_to_tensor(1 if on_value is None else on_value, dtype, name="on_value")
        off_value = convert_to_tensor(0 if off_value is None else off_value, dtype, name="off_value")
        return apply("OneHot", scope, {"indices": indices, "depth": depth, "on_value": on_value, "off_value": off_value,
                                       "axis": -1 if axis is None else axis})


def sequence_mask(lengths, maxlen=None, dtype=dtypes.bool, name=None):
    """[..., maxlen]: true in the first `lengths` places of each row."""
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            maxlen = apply("Max", None, {"input": lengths, "reduction_indices":
                                         np.arange(lengths.shape.ndims or 1, dtype=np.int32)})
            maxlen = apply("Maximum", None, {"x": constant(0, maxlen.dtype), "y": maxlen})
        else:
            maxlen = convert_to_tensor(maxlen)
        row = apply("Range", None, {"start": constant(0, maxlen.dtype), "limit": maxlen,
                                    "delta": constant(1, maxlen.dtype)})
        matrix = apply("Cast", None, {"x": expand_dims(lengths, -1), "DstT": maxlen.dtype})
        result = apply("Less", None, {"x": row, "y": matrix})
        dtype = dtypes.as_dtype(dtype) if dtype is not None else dtypes.bool
        return result if dtype == dtypes.bool else apply("Cast", None, {"x": result, "DstT": dtype})


def reverse(tensor, axis, name=None):
    return apply("ReverseV2", name, {"tensor": tensor, "axis": [axis] if isinstance(axis, int) else axis})


def reverse_sequence(input, seq_lengths, seq_axis=None, batch_axis=None, name=None, seq_dim=None, batch_dim=None):
    seq_axis = deprecated_argument("seq_axis", seq_axis, "seq_dim", seq_dim)
    batch_axis = deprecated_argument("batch_axis", batch_axis, "batch_dim", batch_dim)
    return apply("ReverseSequence", name, {"input": input, "seq_lengths": seq_lengths, "seq_dim": seq_axis,
                                           "batch_dim": batch_axis or 0})


def meshgrid(*args, **kwargs):
    indexing = kwargs.pop("indexing", "xy")
    name = kwargs.pop("name", "meshgrid")
    if kwargs:
        raise TypeError("'%s' is an invalid keyword argument for this function" % list(kwargs)[0])
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    with name_scope(name, "meshgrid", args):
        n = len(args)
        parts = [reshape(convert_to_tensor(x), [1] * i + [-1] + [1] * (n - i - 1)) for i, x in enumerate(args)]
        sizes = [size(x) for x in args]
        kind = convert_to_tensor(args[0]).dtype.base_dtype
        if indexing == "xy" and n > 1:
            parts[0] = reshape(parts[0], [1, -1] + [1] * (n - 2))
            parts[1] = reshape(parts[1], [-1, 1] + [1] * (n - 2))
            sizes[0], sizes[1] = sizes[1], sizes[0]
        filled = apply("Fill", None, {"dims": stack(sizes), "value": constant(1, kind)})
        return [apply("Mul", None, {"x": p, "y": filled}) for p in parts]


def unique(x, out_idx=dtypes.int32, name=None):
    return apply("Unique", name, {"x": x, "out_idx": out_idx})


def unique_with_counts(x, out_idx=dtypes.int32, name=None):
    return apply("UniqueWithCounts", name, {"x": x, "out_idx": out_idx})


def setdiff1d(x, y, index_dtype=dtypes.int32, name=None):
    return apply("ListDiff", name, {"x": x, "y": y, "out_idx": index_dtype})


def broadcast_static_shape(shape_x, shape_y):
    x, y = tensor_shape.as_shape(shape_x), tensor_shape.as_shape(shape_y)
    if x.ndims is None or y.ndims is None:
        return tensor_shape.TensorShape(None)
    a, b = x.as_list(), y.as_list()
    n = max(len(a), len(b))
    a, b = [1] * (n - len(a)) + a, [1] * (n - len(b)) + b
    out = []
    for i, j in zip(a, b):
        if i is not None and j is not None and i != j and 1 not in (i, j):
            raise ValueError("Incompatible shapes for broadcasting: %s and %s" % (shape_x, shape_y))
        out.append(j if i == 1 else i if j == 1 else i if j is None and i is not None else j if i is None else i)
    return tensor_shape.TensorShape(out)


def broadcast_dynamic_shape(shape_x, shape_y):
    return apply("BroadcastArgs", None, {"s0": convert_to_tensor(shape_x), "s1": convert_to_tensor(shape_y)})


def required_space_to_batch_paddings(input_shape, block_shape, base_paddings=None, name=None):
    size_, block = np.asarray(input_shape), np.asarray(block_shape)
    base = np.zeros((len(block), 2), np.int32) if base_paddings is None else np.asarray(base_paddings)
    full = size_ + base[:, 0] + base[:, 1]
    extra = (-full) % block
    paddings = np.stack([base[:, 0], base[:, 1] + extra], 1).astype(np.int32)
    return constant(paddings), constant(np.stack([np.zeros_like(extra), extra], 1).astype(np.int32))


def space_to_batch(input, paddings, block_size=None, name=None, block_shape=None):
    if block_shape is not None:
        return apply("SpaceToBatchND", name, {"input": input, "block_shape": block_shape, "paddings": paddings})
    return apply("SpaceToBatchND", name, {"input": input, "paddings": paddings,
                                          "block_shape": constant([block_size, block_size], dtypes.int64)})


def batch_to_space(input, crops, block_size=None, name=None, block_shape=None):
    block = constant([block_size, block_size], dtypes.int64) if block_shape is None else block_shape
    return apply("BatchToSpaceND", name, {"input": input, "crops": crops, "block_shape": block})


def matrix_diag(diagonal, name="diag", k=0, num_rows=-1, num_cols=-1, padding_value=0, align="RIGHT_LEFT"):
    diagonal = convert_to_tensor(diagonal)
    return apply("MatrixDiagV3", name, {"diagonal": diagonal, "k": k, "num_rows": num_rows, "num_cols": num_cols,
                                        "padding_value": constant(padding_value, diagonal.dtype.base_dtype),
                                        "align": align})


def matrix_diag_part(input, name="diag_part", k=0, padding_value=0, align="RIGHT_LEFT"):
    input = convert_to_tensor(input)
    return apply("MatrixDiagPartV3", name, {"input": input, "k": k, "align": align,
                                            "padding_value": constant(padding_value, input.dtype.base_dtype)})


def matrix_set_diag(input, diagonal, name="set_diag", k=0, align="RIGHT_LEFT"):
    return apply("MatrixSetDiagV3", name, {"input": input, "diagonal": diagonal, "k": k, "align": align})


def guarantee_const(input, name=None):
    return apply("GuaranteeConst", name, {"input": input})


def roll(input, shift, axis, name=None):
    return apply("Roll", name, {"input": input, "shift": shift, "axis": axis})


def searchsorted(sorted_sequence, values, side="left", out_type=dtypes.int32, name=None):
    sequence = convert_to_tensor(sorted_sequence)
    values = convert_to_tensor(values)
    width = shape(sequence)[-1]
    flat = reshape(sequence, [-1, width])
    flat_values = reshape(values, [-1, shape(values)[-1]])
    op = {"left": "LowerBound", "right": "UpperBound"}.get(side)
    if op is None:
        raise ValueError("side must be either 'right' or 'left'.  Saw: %s." % side)
    return reshape(apply(op, name, {"sorted_inputs": flat, "values": flat_values, "out_type": out_type}), shape(values))


def edit_distance(hypothesis, truth, normalize=True, name="edit_distance"):
    return apply("EditDistance", name, {
        "hypothesis_indices": hypothesis.indices, "hypothesis_values": hypothesis.values,
        "hypothesis_shape": hypothesis.dense_shape, "truth_indices": truth.indices, "truth_values": truth.values,
        "truth_shape": truth.dense_shape, "normalize": normalize})


def stop_gradient(input, name=None):
    return apply("StopGradient", name, {"input": input})


def sparse_mask(a, mask_indices, name=None):
    with name_scope(name, "sparse_mask", [a, mask_indices]):
        out, index = setdiff1d(a.indices, mask_indices)
        return IndexedSlices(gather(a.values, index), out, a.dense_shape)


def extract_image_patches(images, ksizes=None, strides=None, rates=None, padding=None, name=None, sizes=None):
    return apply("ExtractImagePatches", name, {"images": images, "ksizes": ksizes or sizes, "strides": strides,
                                               "rates": rates, "padding": padding})


def extract_image_patches_v2(images, sizes, strides, rates, padding, name=None):
    return extract_image_patches(images, sizes, strides, rates, padding, name)


def quantize_v2(input, min_range, max_range, T, mode="MIN_COMBINED", name=None, round_mode="HALF_AWAY_FROM_ZERO"):
    return apply("QuantizeV2", name, {"input": input, "min_range": min_range, "max_range": max_range, "T": T,
                                      "mode": mode, "round_mode": round_mode})


def dequantize(input, min_range, max_range, mode="MIN_COMBINED", name=None):
    return apply("Dequantize", name, {"input": input, "min_range": min_range, "max_range": max_range, "mode": mode})


def hamming_distance(*unused):
    raise NotImplementedError("hamming_distance")


Tensor._override_operator("__getitem__", _slice_helper)


def repeat(input, repeats, axis=None, name=None):
    """Each slice along the axis as often as `repeats` says: one number, or one for each."""
    from .math_ops import cast, range as range_
    with name_scope(name or "Repeat"):
        value = convert_to_tensor(input)
        if axis is None:
            value, axis = reshape(value, [-1]), 0
        axis = axis % value.shape.ndims
        n = shape(value)[axis]
        counts = reshape(cast(convert_to_tensor(repeats), "int32"), [-1])
        counts = apply("BroadcastTo", None, {"input": counts, "shape": reshape(n, [1])})
        mask = sequence_mask(counts)
        rows = expand_dims(range_(n), 1) + zeros_like(mask, dtype="int32")
        return gather(value, boolean_mask(rows, mask), axis=axis)
