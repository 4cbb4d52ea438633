"""sparse_ops — what SparseTensors can do."""
from . import dtypes
from .array_ops import gather, reshape, shape
from .convert import convert_to_tensor
from .graph import name_scope
from .indexed import SparseTensor, SparseTensorValue
from .math_ops import cast, reduce_max
from .ops_apply import apply


def _sparse(value):
    return SparseTensor.from_value(value)


def sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value=0, validate_indices=True, name=None):
    values = convert_to_tensor(sparse_values)
    return apply("SparseToDense", name, {
        "sparse_indices": sparse_indices, "output_shape": output_shape, "sparse_values": values,
        "default_value": convert_to_tensor(default_value if values.dtype != dtypes.string or default_value != 0 else "",
                                           values.dtype), "validate_indices": validate_indices})


def sparse_tensor_to_dense(sp_input, default_value=None, validate_indices=True, name=None):
    sp = _sparse(sp_input)
    if default_value is None:
        default_value = "" if sp.dtype == dtypes.string else 0
    dense = sparse_to_dense(sp.indices, sp.dense_shape, sp.values, default_value, validate_indices, name)
    known = sp.shape
    if known.ndims is not None:
        dense.set_shape(known)
    return dense


def sparse_tensor_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False, name=None):
    sp = _sparse(sp_a)
    return apply("SparseTensorDenseMatMul", name, {"a_indices": sp.indices, "a_values": sp.values,
                                                   "a_shape": sp.dense_shape, "b": b, "adjoint_a": adjoint_a,
                                                   "adjoint_b": adjoint_b})


def sparse_reshape(sp_input, shape, name=None):
    sp = _sparse(sp_input)
    r = apply("SparseReshape", name, {"input_indices": sp.indices, "input_shape": sp.dense_shape,
                                      "new_shape": cast(convert_to_tensor(shape), dtypes.int64)})
    return SparseTensor(r[0], sp.values, r[1])


def sparse_reorder(sp_input, name=None):
    sp = _sparse(sp_input)
    r = apply("SparseReorder", name, {"input_indices": sp.indices, "input_values": sp.values,
                                      "input_shape": sp.dense_shape})
    return SparseTensor(r[0], r[1], sp.dense_shape)


def sparse_concat(axis, sp_inputs, name=None, expand_nonconcat_dim=False, concat_dim=None, expand_nonconcat_dims=None):
    inputs = [_sparse(s) for s in sp_inputs]
    if len(inputs) == 1:
        return inputs[0]
    r = apply("SparseConcat", name, {"indices": [s.indices for s in inputs], "values": [s.values for s in inputs],
                                     "shapes": [s.dense_shape for s in inputs],
                                     "concat_dim": concat_dim if axis is None else axis})
    return SparseTensor(*r)


def sparse_add(a, b, threshold=None, thresh=None):
    threshold = (thresh if threshold is None else threshold) or 0
    if all(isinstance(v, (SparseTensor, SparseTensorValue)) for v in (a, b)):
        a, b = _sparse(a), _sparse(b)
        r = apply("SparseAdd", None, {"a_indices": a.indices, "a_values": a.values, "a_shape": a.dense_shape,
                                      "b_indices": b.indices, "b_values": b.values, "b_shape": b.dense_shape,
                                      "thresh": convert_to_tensor(threshold, a.dtype.real_dtype)})
        return SparseTensor(*r)
    if isinstance(b, (SparseTensor, SparseTensorValue)):
        a, b = b, a
    a = _sparse(a)
    return apply("SparseTensorDenseAdd", None, {"a_indices": a.indices, "a_values": a.values, "a_shape": a.dense_shape,
                                                "b": b})


def sparse_reduce_sum(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    sp = _sparse(sp_input)
    axis = reduction_axes if axis is None else axis
    if axis is None:
        from .math_ops import range as range_
        axis = range_(0, shape(sp.dense_shape)[0])
    return apply("SparseReduceSum", None, {"input_indices": sp.indices, "input_values": sp.values,
                                           "input_shape": sp.dense_shape, "reduction_axes": axis,
                                           "keep_dims": bool(keepdims or keep_dims)})


def sparse_retain(sp_input, to_retain):
    sp = _sparse(sp_input)
    where = reshape(apply("Where", None, {"input": convert_to_tensor(to_retain)}), [-1])
    return SparseTensor(gather(sp.indices, where), gather(sp.values, where), sp.dense_shape)


def sparse_slice(sp_input, start, size, name=None):
    sp = _sparse(sp_input)
    as_int64 = lambda v: convert_to_tensor(v, dtypes.int64)
    return SparseTensor(*apply("SparseSlice", name, {"indices": sp.indices, "values": sp.values, "shape": sp.dense_shape,
                                                     "start": as_int64(start), "size": as_int64(size)}))


def sparse_fill_empty_rows(sp_input, default_value, name=None):
    sp = _sparse(sp_input)
    r = apply("SparseFillEmptyRows", name, {"indices": sp.indices, "values": sp.values, "dense_shape": sp.dense_shape,
                                            "default_value": convert_to_tensor(default_value, sp.dtype)})
    return SparseTensor(r[0], r[1], sp.dense_shape), r[2]


def sparse_softmax(sp_input, name=None):
    sp = _sparse(sp_input)
    values = apply("SparseSoftmax", name, {"sp_indices": sp.indices, "sp_values": sp.values, "sp_shape": sp.dense_shape})
    return SparseTensor(sp.indices, values, sp.dense_shape)


def sparse_transpose(sp_input, perm=None, name=None):
    with name_scope(name, "SparseTranspose"):
        sp = _sparse(sp_input)
        if perm is None:
            n = sp.dense_shape.shape[0].value
            perm = list(range(n - 1, -1, -1))
        moved = SparseTensor(gather(sp.indices, perm, axis=1), sp.values, gather(sp.dense_shape, perm))
        return sparse_reorder(moved)


def sparse_split(keyword_required=None, sp_input=None, num_split=None, axis=None, name=None, split_dim=None):
    sp = _sparse(sp_input)
    r = apply("SparseSplit", name, {"split_dim": split_dim if axis is None else axis, "indices": sp.indices,
                                    "values": sp.values, "shape": sp.dense_shape, "num_split": num_split})
    return [SparseTensor(i, v, s) for i, v, s in zip(*r)]


def sparse_to_indicator(sp_input, vocab_size, name=None):
    sp = _sparse(sp_input)
    merged = sparse_merge(sp, sp, vocab_size)
    ones = apply("Fill", None, {"dims": shape(merged.values), "value": True})
    return sparse_tensor_to_dense(SparseTensor(merged.indices, ones, merged.dense_shape), False, False)


def sparse_merge(sp_ids, sp_values, vocab_size, name=None, already_sorted=False):
    ids, values = _sparse(sp_ids), _sparse(sp_values)
    from .array_ops import concat, expand_dims
    indices = concat([ids.indices[:, :-1], expand_dims(cast(ids.values, dtypes.int64), 1)], 1)
    dense = concat([ids.dense_shape[:-1], reshape(cast(convert_to_tensor(vocab_size), dtypes.int64), [1])], 0)
    merged = SparseTensor(indices, values.values, dense)
    return merged if already_sorted else sparse_reorder(merged)


def sparse_reset_shape(sp_input, new_shape=None):
    sp = _sparse(sp_input)
    dense = reduce_max(sp.indices, 0) + 1 if new_shape is None else convert_to_tensor(new_shape, dtypes.int64)
    return SparseTensor(sp.indices, sp.values, dense)



def from_dense(tensor, name=None):
    """The values of a tensor that are not zero."""
    with name_scope(name or "dense_to_sparse"):
        tensor = convert_to_tensor(tensor)
        nought = convert_to_tensor("" if tensor.dtype == dtypes.string else 0 if tensor.dtype != dtypes.bool else False,
                                   tensor.dtype)
        at = apply("Where", None, {"input": apply("NotEqual", None, {"x": tensor, "y": nought})})
        found = apply("GatherNd", None, {"params": tensor, "indices": at})
        return SparseTensor(at, found, shape(tensor, out_type=dtypes.int64))


def sparse_eye(num_rows, num_columns=None, dtype=dtypes.float32, name=None):
    """Ones on the diagonal."""
    from .array_ops import ones, stack
    from .math_ops import minimum, range as range_
    with name_scope(name or "eye"):
        rows = cast(num_rows, dtypes.int64)
        columns = cast(num_rows if num_columns is None else num_columns, dtypes.int64)
        n = minimum(rows, columns)
        at = range_(n)
        return SparseTensor(stack([at, at], 1), ones([n], dtype), stack([rows, columns]))


def _of_two(op):
    def made(sp_a, sp_b, name=None):
        a, b = _sparse(sp_a), _sparse(sp_b)
        found = apply(op, name, {"a_indices": a.indices, "a_values": a.values, "a_shape": a.dense_shape,
                                 "b_indices": b.indices, "b_values": b.values, "b_shape": b.dense_shape})
        return SparseTensor(found.output_indices, found.output_values, a.dense_shape)
    made.__doc__ = "The %s of two at each place; what is absent is 0." % op[-7:].lower()
    return made


sparse_maximum, sparse_minimum = _of_two("SparseSparseMaximum"), _of_two("SparseSparseMinimum")


def _reduced(op):
    def made(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
        from .array_ops import size
        from .math_ops import range as range_
        sp = _sparse(sp_input)
        axes = axis if axis is not None else reduction_axes
        axes = range_(size(sp.dense_shape)) if axes is None else axes
        keep = bool(keepdims if keepdims is not None else keep_dims)
        found = apply(op, None, {"input_indices": sp.indices, "input_values": sp.values, "input_shape": sp.dense_shape,
                                 "reduction_axes": axes, "keep_dims": keep})
        return found if "Sparse" not in op[6:] else SparseTensor(found.output_indices, found.output_values,
                                                                 found.output_shape)
    return made


sparse_reduce_max, sparse_reduce_max_sparse, sparse_reduce_sum_sparse = [
    _reduced(o) for o in ("SparseReduceMax", "SparseReduceMaxSparse", "SparseReduceSumSparse")]
