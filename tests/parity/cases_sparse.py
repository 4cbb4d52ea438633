# cases_sparse — sparse tensors: arithmetic, reductions, parts, sets, serialised ones; ragged tensors.
from cases import *


def sparse(dtype, shape, part=0.5, key=0):
    """indices, values, shape: ordered, of a random part of the places."""
    places = np.argwhere(rng("sparse", shape, key).rand(*shape) < part).astype(i64).reshape(-1, len(shape))
    return places, values(dtype, (len(places),), key=key), np.array(shape, i64)


WIDE = present(NUMBERS)
REAL = present([d for d in NUMBERS if d not in COMPLEX])
GROUPS = [((3, 4), [0]), ((3, 4), [1]), ((3, 4), [-1]), ((3, 4), [0, 1]), ((3, 4), []), ((2, 3, 2), [1]), ((2, 3, 2), [0, -1]), ((0, 3), [0])]
for dtype in WIDE:
    real = np.dtype(dtype if dtype not in COMPLEX else f32 if dtype == c64 else f64)
    exact = dtype in (f32, f64)
    for shape in [(4,), (3, 4), (2, 3, 2), (0, 2)] if dtype in (f32, i32) else [(3, 4)]:
        a, b = sparse(dtype, shape), sparse(dtype, shape, key=1)
        case("SparseAdd", *a, *b, np.array(0, real), const=(), grad=exact and len(a[0]) > 0, ys=(1,))
        case("SparseAdd", *a, *b, np.array(2, real), const=())
        if dtype in REAL:
            case("SparseSparseMaximum", *a, *b, const=())
        case("SparseSparseMinimum", *a, *b, const=(), error=dtype in COMPLEX)
        case("SparseTensorDenseAdd", *a, values(dtype, shape, key=3), const=(), grad=exact)
        for other in {shape, shape[1:], (1,) * len(shape), ()} if shape != (0, 2) else {shape}:
            case("SparseDenseCwiseMul", *a, values(dtype, other, 1, 4, key=3), const=(), grad=exact and other != ())
            case("SparseDenseCwiseDiv", *a, values(dtype, other, 1, 4, key=3), const=(), grad=exact and other != ())
            case("SparseDenseCwiseAdd", *a, values(dtype, other, 1, 4, key=3), const=())
    for shape, axes in GROUPS if dtype in (f32, i32) else GROUPS[:2]:
        for keep in (False, True):
            a = sparse(dtype, shape)
            case("SparseReduceSum", *a, np.array(axes, i32), attrs={"keep_dims": keep}, const=(), grad=exact and len(a[0]) > 0)
            case("SparseReduceSumSparse", *a, np.array(axes, i32), attrs={"keep_dims": keep}, const=())
            if dtype in REAL:
                case("SparseReduceMax", *a, np.array(axes, i32), attrs={"keep_dims": keep}, const=())
                case("SparseReduceMaxSparse", *a, np.array(axes, i32), attrs={"keep_dims": keep}, const=())
for dtype in (f32, f64, f16):
    for shape in [(3, 4), (2, 3, 4), (5, 1)]:
        case("SparseSoftmax", *sparse(dtype, shape), const=(), grad=dtype != f16)
for word in ("nan", "inf", "-inf"):
    a, b = sparse(f32, (3, 4)), sparse(f32, (3, 4), key=1)
    a[1][0], b[1][-1] = float(word), float(word)
    case("SparseAdd", *a, *b, np.array(0.5, f32), const=(), label=word)
    case("SparseSparseMaximum", *a, *b, const=(), label=word)
    case("SparseReduceSum", *a, ints(1), const=(), label=word)
    case("SparseReduceMax", *a, ints(1), const=(), label=word)
    case("SparseDenseCwiseMul", *a, np.zeros((4,), f32), const=(), label=word)
for threshold in (2**53 + 1, 2**53, 1, -2**63):
    place = np.array([[0], [1]], i64)
    case("SparseAdd", place, np.array([2**53, -2**63], i64), ints(2, dtype=i64), place, np.array([1, 0], i64), ints(2, dtype=i64),
         np.array(threshold, i64), const=(), label="int64 at %d" % threshold)
case("SparseAdd", np.zeros((1, 0), i64), np.ones(1, f32), np.zeros(0, i64), np.zeros((1, 0), i64), np.ones(1, f32),
     np.zeros(0, i64), np.array(0, f32), const=(), error=True)
for op in ("SparseSparseMaximum", "SparseSparseMinimum"):
    case(op, np.array([[0], [1]], i64), np.ones(2, f32), ints(2, dtype=i64), np.array([[0], [5]], i64), np.ones(2, f32),
         ints(2, dtype=i64), const=(), error=True)
bad = (np.array([[0, 1], [3, 0]], i64), np.ones(2, f32), ints(3, 4, dtype=i64))
good = (np.array([[0, 1], [2, 0]], i64), np.ones(2, f32), ints(3, 4, dtype=i64))
case("SparseAdd", *good, *good[:2], ints(3, 5, dtype=i64), np.array(0, f32), const=(), error=True)
case("SparseTensorDenseAdd", *bad, values(f32, (3, 4)), const=(), error=True)
case("SparseTensorDenseAdd", *good, values(f32, (4,)), const=(), error=True)
case("SparseDenseCwiseMul", *bad, values(f32, (3, 4)), const=(), error=True)
case("SparseDenseCwiseMul", *good, values(f32, (3, 3)), const=(), error=True)
case("SparseDenseCwiseAdd", *good, values(f32, (1, 3, 4)), const=(), error=True)
case("SparseReduceSum", *good, ints(2), const=(), error=True)

for dtype in present(ALL):
    for shape in [(3, 4), (2, 3, 2)] if dtype in (f32, string) else [(3, 4)]:
        a = sparse(dtype, shape)
        order = rng("order", shape).permutation(len(a[0]))
        case("SparseReorder", a[0][order], a[1][order], a[2], const=(), grad=dtype == f32, ys=(1,))
        for begin, size in [((0, 0), (3, 4)), ((1, 1), (1, 2)), ((1, 2), (9, 9)), ((7, 0), (1, 1)), ((0, 0), (0, 0))]:
            tail = (0,) * (len(shape) - 2)
            case("SparseSlice", *a, ints(*begin, *tail, dtype=i64), ints(*size, *[9] * len(tail), dtype=i64), const=(), grad=dtype in (f32, f64), ys=(1,))
        for axis in (0, 1, -1):
            for n in (1, 2, 3):
                if n <= shape[axis]:
                    case("SparseSplit", np.array(axis, i64), *a, attrs={"num_split": n}, const=())
            b = sparse(dtype, shape[:axis] + (5,) + shape[axis + 1:] if axis >= 0 else shape[:-1] + (5,), key=1)
            case("SparseConcat", [a[0], b[0]], [a[1], b[1]], [a[2], b[2]], attrs={"concat_dim": axis}, const=())
case("SparseSlice", *sparse(f32, (3, 4)), ints(0, -1, dtype=i64), ints(1, 1, dtype=i64), const=(), error=True)
case("SparseSlice", *sparse(f32, (3, 4)), ints(0, dtype=i64), ints(1, 1, dtype=i64), const=(), error=True)
case("SparseSplit", np.array(2, i64), *sparse(f32, (3, 4)), attrs={"num_split": 2}, const=(), error=True)
case("SparseSplit", np.array(0, i64), *sparse(f32, (3, 4)), attrs={"num_split": 4}, const=(), error=True)
case("SparseConcat", [good[0], good[0]], [good[1], good[1]], [good[2], ints(4, 4, dtype=i64)], attrs={"concat_dim": 1}, const=(), error=True)
case("SparseConcat", [good[0], good[0]], [good[1], good[1]], [good[2], good[2]], attrs={"concat_dim": 2}, const=(), error=True)

SETS = [i8, i16, i32, i64, u8, u16, string]
for dtype in SETS:
    for operation in ("a-b", "b-a", "intersection", "union"):
        attrs = {"set_operation": operation}
        for groups in [(3,), (2, 2)] if dtype in (i32, string) else [(3,)]:
            a, b = values(dtype, groups + (5,), 0, 4), values(dtype, groups + (3,), 0, 4, key=1)
            x, y = sparse(dtype, groups + (4,)), sparse(dtype, groups + (6,), key=2)
            case("DenseToDenseSetOperation", a, b, attrs=attrs, const=())
            case("DenseToSparseSetOperation", a, *y, attrs=attrs, const=())
            case("SparseToSparseSetOperation", *x, *y, attrs=attrs, const=())
    case("SetSize", *sparse(dtype, (3, 4)), const=())
    case("SetSize", *sparse(dtype, (2, 2, 3)), const=())
case("DenseToDenseSetOperation", values(i32, (2, 3)), values(i32, (3, 3)), attrs={"set_operation": "union"}, const=(), error=True)
case("DenseToDenseSetOperation", values(i32, (3,)), values(i32, (3,)), attrs={"set_operation": "union"}, const=(), error=True)
case("SetSize", np.array([[0, 1], [0, 0]], i64), ints(1, 2), ints(2, 2, dtype=i64), const=(), error=True)

# Ragged tensors.
for dtype in (i32, i64, f32, f64, bfloat16):
    if dtype is None:
        continue
    for starts, limits, deltas in [([0, 5, 8], [3, 5, 12], 1), (0, 4, 1), ([3, 0], 0, [-1, 2]), ([1, 2], [8, 9], [3, 2]), ([], [], [])]:
        for splits in ("int32", "int64"):
            case("RaggedRange", *(np.array(x, dtype) for x in (starts, limits, deltas)), attrs={"Tsplits": splits}, const=())
case("RaggedRange", np.array(0, f32), np.array([1.7, 0.3], f32), np.array(0.1, f32), const=())
case("RaggedRange", ints(0), ints(3), ints(0), const=(), error=True)
case("RaggedRange", ints(0, 1), ints(3), ints(1), const=(), error=True)
for splits in (i32, i64):
    one, two = ints(0, 2, 2, 5, dtype=splits), ints(0, 1, 1, 4, 6, 6, dtype=splits)
    for dtype in present([f32, i32, f16, c64, boolean, string]):
        for chosen, rank in [(ints(2, 0, 2, dtype=i64), 1), (ints(1), 1), (np.array([[0, 2], [1, 1]], i32), 2), (np.zeros((0,), i64), 1), (np.array(2, i32), 0)]:
            case("RaggedGather", [one], values(dtype, (5,)), chosen, attrs={"OUTPUT_RAGGED_RANK": rank}, const=(), grad=dtype == f32 and rank == 1 and chosen.size > 0, ys=(1,))
            case("RaggedGather", [one, two], values(dtype, (6, 2)), chosen, attrs={"OUTPUT_RAGGED_RANK": rank + 1}, const=())
        case("RaggedTensorToSparse", [one], values(dtype, (5,)), const=(), grad=dtype == f32, ys=(1,))
        case("RaggedTensorToSparse", [one, two], values(dtype, (6,)), const=())
        case("RaggedTensorToSparse", [one, two], values(dtype, (6, 2, 2)), const=())
        case("RaggedTensorToSparse", [ints(0, 0, dtype=splits)], values(dtype, (0, 3)), const=())
case("RaggedGather", [ints(0, 2, 5)], values(f32, (5,)), ints(2), attrs={"OUTPUT_RAGGED_RANK": 1}, const=(), error=True)
case("RaggedGather", [ints(0, 2, 6)], values(f32, (5,)), ints(1), attrs={"OUTPUT_RAGGED_RANK": 1}, const=(), error=True)
case("RaggedTensorToSparse", [ints(0, 3, 2, 5)], values(f32, (5,)), const=(), error=True)
case("RaggedTensorToSparse", [ints(1, 3, 5)], values(f32, (5,)), const=(), error=True)

# Serialised ones.
for dtype in present(ALL):
    a = sparse(dtype, (3, 4))
    for kind in ("string", "variant"):
        @script("SerializeSparse", label="%s as %s" % (dtype, kind))
        def run(tf, a=a, kind=kind):
            x = [tf.placeholder(part.dtype if part.dtype != string else tf.string, part.shape) for part in a]
            one = tf.raw_ops.SerializeSparse(sparse_indices=x[0], sparse_values=x[1], sparse_shape=x[2], out_type=getattr(tf, kind))
            many = tf.raw_ops.SerializeManySparse(sparse_indices=x[0], sparse_values=x[1], sparse_shape=x[2], out_type=getattr(tf, kind))
            out = [*tf.raw_ops.DeserializeSparse(serialized_sparse=one, dtype=x[1].dtype), *tf.raw_ops.DeserializeSparse(serialized_sparse=many, dtype=x[1].dtype),
                   *tf.raw_ops.DeserializeSparse(serialized_sparse=tf.stack([[one, one], [one, one]]), dtype=x[1].dtype)]
            if kind == "string":
                out += [one, many, *tf.raw_ops.DeserializeManySparse(serialized_sparse=many, dtype=x[1].dtype)]
            return [(out, dict(zip(x, a)), [])]
