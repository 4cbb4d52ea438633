# cases_array — what moves, cuts and joins values.
from cases import *

for dtype in present(ALL):
    main = dtype in (f32, i32)
    for shape in SHAPES if main else FEW:
        x = values(dtype, shape)
        case("Identity", x, grad=dtype == f32)
        case("StopGradient", x)
        case("PreventGradient", x)
        case("Shape", x, attrs={"out_type": "int64" if shape == (3,) else "int32"})
        case("Size", x, attrs={"out_type": "int64" if shape == (3,) else "int32"})
        case("Rank", x)
        if dtype != string:
            case("ZerosLike", x, grad=dtype == f32)
        if dtype != string:
            case("OnesLike", x, grad=dtype == f32)
    case("IdentityN", [values(dtype, (2,)), values(i32, (3,))])
    case("ShapeN", [values(dtype, (2, 3)), values(dtype, ()), values(dtype, (0,))])
    for shape, to in [((2, 6), [3, 4]), ((2, 6), [-1]), ((2, 6), [4, -1]), ((2, 6), [1, 12, 1]), ((1,), []), ((0, 3), [3, 0]), ((0, 3), [-1, 3])]:
        case("Reshape", values(dtype, shape), np.array(to, i32 if main else i64), grad=dtype == f32)
    for shape, axis in [((2, 3), 0), ((2, 3), 1), ((2, 3), -1), ((2, 3), 2), ((), 0), ((0,), -1)]:
        case("ExpandDims", values(dtype, shape), np.array(axis, i32), grad=dtype == f32)
    for shape, axes in [((1, 3, 1), []), ((1, 3, 1), [0]), ((1, 3, 1), [-1]), ((1, 1), [0, 1]), ((2, 3), [])]:
        case("Squeeze", values(dtype, shape), attrs={"squeeze_dims": axes}, grad=dtype == f32)
    for shape, perm in [((2, 3), [1, 0]), ((2, 3, 4), [2, 0, 1]), ((2, 3, 4), [0, 2, 1]), ((2, 3, 4), [1, 0, 2]), ((2, 3, 4), [0, 1, 2]),
                        ((5,), [0]), ((), []), ((0, 3), [1, 0]), ((2, 3, 4, 5), [0, 3, 1, 2]), ((2, 3, 4, 5), [0, 2, 3, 1]), ((2, 1, 3, 1, 2), [4, 0, 2, 1, 3]),
                        ((65, 33), [1, 0])]:
        case("Transpose", values(dtype, shape), np.array(perm, i32 if main else i64), grad=dtype == f32)
    for axis in (0, 1, -1):
        xs = [values(dtype, s, key=i) for i, s in enumerate([(2, 3)] * 3)]
        case("ConcatV2", xs, np.array(axis, i32), const=(1,), grad=dtype == f32)
        if axis >= 0:
            case("Concat", np.array(axis, i32), xs, const=(0,), grad=dtype == f32)
        case("Pack", xs, attrs={"axis": axis}, grad=dtype == f32)
        case("Unpack", values(dtype, (2, 3)), attrs={"num": 2 if axis == 0 else 3, "axis": axis}, grad=dtype == f32, ys=(0, 1))
        case("Split", np.array(axis, i32), values(dtype, (4, 4)), attrs={"num_split": 2}, const=(0,), grad=dtype == f32, ys=(0, 1))
        case("SplitV", values(dtype, (4, 5)), np.array([1, -1, 2], i64 if main else i32), np.array(axis, i32), attrs={"num_split": 3},
             const=(1, 2), grad=dtype == f32, ys=(0, 1, 2))
    case("ConcatV2", [values(dtype, (2, n), key=n) for n in (1, 0, 4)], np.array(1, i64), const=(1,), grad=dtype == f32)
    case("ConcatV2", [values(dtype, (0,)), values(dtype, (3,))], np.array(0, i32), const=(1,))
    case("Pack", [values(dtype, ()) for _ in range(4)], attrs={"axis": 0}, grad=dtype == f32)
    for shape, begin, size in [((4, 5), [1, 2], [2, 3]), ((4, 5), [0, 0], [-1, -1]), ((4, 5), [4, 0], [0, 5]), ((6,), [2], [-1]), ((), [], []), ((2, 3, 4), [0, 1, 2], [2, 1, 2])]:
        case("Slice", values(dtype, shape), np.array(begin, i32), np.array(size, i32), grad=dtype == f32)
    for shape, multiples in [((2, 3), [2, 1]), ((2, 3), [1, 3]), ((), []), ((3,), [0]), ((1, 2), [4, 2]), ((2, 1, 3), [1, 2, 2])]:
        case("Tile", values(dtype, shape), np.array(multiples, i32), grad=dtype == f32)
    for shape, pads in [((2, 3), [[1, 0], [2, 1]]), ((3,), [[0, 0]]), ((), []), ((0, 2), [[1, 1], [0, 0]]), ((2, 1, 3), [[0, 1], [1, 0], [2, 2]])]:
        if dtype != string:
            case("Pad", values(dtype, shape), np.array(pads, i32).reshape(-1, 2), grad=dtype == f32)
        case("PadV2", values(dtype, shape), np.array(pads, i32).reshape(-1, 2), values(dtype, (), key=9), grad=dtype == f32)
    if dtype != string:
        for mode in ("REFLECT", "SYMMETRIC"):
            for shape, pads in [((3, 4), [[1, 2], [2, 1]]), ((4,), [[3, 3]]), ((3, 1), [[0, 0], [0, 0]])]:
                case("MirrorPad", values(dtype, shape), np.array(pads, i32), attrs={"mode": mode}, grad=dtype == f32)
    for shape in ((), (3,), (2, 0), (2, 3)):
        case("Fill", np.array(shape, i32 if main else i64), values(dtype, ()), grad=dtype == f32)
    for shape, to in [((3,), [2, 3]), ((), [4]), ((2, 1), [2, 5]), ((1, 3), [2, 4, 3]), ((1,), [0]), ((2, 3), [2, 3])]:
        if dtype != string:
            case("BroadcastTo", values(dtype, shape), np.array(to, i32), grad=dtype == f32)
    for shape, indices in [((5, 2), [0, 4, 0]), ((5, 2), [[1, 2], [3, 3]]), ((5,), 3), ((5, 2), []), ((4, 3, 2), [1])]:
        for index in (i32, i64) if main else (i32,):
            case("Gather", values(dtype, shape), np.array(indices, index), const=(), grad=dtype == f32)
            for axis in range(min(len(shape), 2)):
                if np.size(indices) and np.max(indices) >= shape[axis]:
                    continue
                case("GatherV2", values(dtype, shape), np.array(indices, index), np.array(axis, i32), const=(2,), grad=dtype == f32)
    case("GatherV2", values(dtype, (2, 4, 3)), np.array([[0, 2], [3, 1]], i32), np.array(1, i32), attrs={"batch_dims": 1}, const=(2,), grad=dtype == f32)
    case("GatherV2", values(dtype, (2, 4)), np.array([0, 3], i32), np.array(-1, i32), const=(2,))
    for shape, indices in [((3, 4), [[0], [2]]), ((3, 4), [[0, 1], [2, 3], [1, 1]]), ((3, 4), [[[0, 0]], [[2, 2]]]), ((3,), np.zeros((0, 1))), ((3, 4), np.zeros((2, 0)))]:
        case("GatherNd", values(dtype, shape), np.array(indices, i32), const=(), grad=dtype == f32)
    if dtype not in (string,):
        for indices, updates, shape in [([[1], [3]], (2,), [5]), ([[0], [0]], (2, 3), [2, 3]), ([[0, 1], [1, 1]], (2,), [2, 2]), (np.zeros((0, 1)), (0,), [3])]:
            if dtype != boolean:
                case("ScatterNd", np.array(indices, i32), values(dtype, updates), np.array(shape, i32), grad=dtype == f32)
    for shape, dims in [((2, 3), [True, False]), ((4,), [True]), ((2, 3), [False, False]), ((), [])]:
        case("Reverse", values(dtype, shape), np.array(dims, boolean), grad=dtype == f32)
    for shape, axes in [((2, 3), [0]), ((2, 3), [-1]), ((2, 3, 4), [0, 2]), ((4,), []), ((0, 2), [1])]:
        case("ReverseV2", values(dtype, shape), np.array(axes, i32), grad=dtype == f32)
    for indices, depth, axis in [([0, 2, 1], 3, -1), ([0, 2, 5, -1], 3, 0), ([[0, 1], [1, 2]], 4, 1), (1, 2, -1), ([], 2, -1)]:
        case("OneHot", np.array(indices, i64 if main else i32), np.array(depth, i32), values(dtype, (), key=3), values(dtype, (), key=4),
             attrs={"axis": axis}, const=(1,))
    if dtype != string:
        for shape in ((5,), (2, 3), (0,), (2, 3, 2)):
            case("Where", values(dtype, shape, low=0, high=1.9))
    for shape in ((7,), (0,), (1,)):
        if dtype.name not in ("complex64", "complex128"):
            case("Unique", values(dtype, shape, low=0, high=2), attrs={"out_idx": "int64" if main else "int32"})
            case("UniqueWithCounts", values(dtype, shape, low=0, high=2))
    case("DynamicStitch", [ints(0, 2), ints([1, 3]).reshape(2)], [values(dtype, (2, 2)), values(dtype, (2, 2), key=1)], const=(), grad=dtype == f32)
    case("DynamicStitch", [np.array(0, i32), ints(2, 1), np.zeros((0,), i32)], [values(dtype, (3,)), values(dtype, (2, 3), key=1), values(dtype, (0, 3))], const=())
    case("DynamicPartition", values(dtype, (5, 2)), ints(0, 2, 1, 0, 2), attrs={"num_partitions": 3}, const=(), grad=dtype == f32, ys=(0, 1, 2))
    case("ReverseSequence", values(dtype, (2, 4)), np.array([2, 3], i64), attrs={"seq_dim": 1, "batch_dim": 0}, const=(), grad=dtype == f32)

STRIDED = [  # shape, begin, end, strides, masks: begin end ellipsis new_axis shrink
    ((5, 6), [1, 2], [4, 6], [1, 2], 0, 0, 0, 0, 0), ((5, 6), [0, 0], [0, 0], [1, 1], 3, 3, 0, 0, 0), ((5, 6), [4, 5], [0, 0], [-1, -2], 0, 0, 0, 0, 0),
    ((5, 6), [2], [3], [1], 0, 0, 0, 0, 1), ((5, 6), [-1, 1], [0, 3], [1, 1], 0, 0, 0, 0, 1), ((5, 6), [0, 0], [0, 2], [1, 1], 0, 0, 1, 0, 0),
    ((5, 6), [0, 1], [0, 3], [1, 1], 0, 0, 0, 1, 0), ((2, 3, 4), [0, 0, 1], [0, 0, 3], [1, 1, 1], 0, 0, 2, 1, 0), ((2, 3, 4), [1, 0], [2, 0], [1, 1], 0, 0, 2, 0, 1),
    ((5,), [3], [1], [1], 0, 0, 0, 0, 0), ((5,), [-100], [100], [1], 0, 0, 0, 0, 0), ((5,), [0], [0], [-1], 1, 1, 0, 0, 0), ((0, 3), [0], [0], [1], 1, 1, 0, 0, 0),
    ((5, 6), [1, 2], [2, 3], [1, 1], 0, 0, 0, 0, 3), ((2, 3, 4), [0, 0, 0], [0, 0, 0], [1, 1, 1], 0, 0, 1, 2, 4), ((), [0], [0], [1], 0, 0, 0, 1, 0)]
for shape, begin, end, strides, *masks in STRIDED:
    attrs = dict(zip(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), masks))
    for dtype in present([f32, i32, f64, i8, c128, boolean, string, bfloat16]):
        kind = i64 if dtype == f64 else i32
        case("StridedSlice", values(dtype, shape), np.array(begin, kind), np.array(end, kind), np.array(strides, kind), attrs=attrs, grad=dtype == f32)
case("StridedSliceGrad", ints(5, 6), ints(1, 2), ints(4, 6), ints(1, 2), values(f32, (3, 2)), grad=False)
case("StridedSlice", values(f32, (5,)), ints(0), ints(3), ints(0), error=True)
case("StridedSlice", values(f32, (5,)), ints(7), ints(8), ints(1), attrs={"shrink_axis_mask": 1}, error=True)
case("StridedSlice", values(f32, (5,)), ints(0, 0), ints(1, 1), ints(1, 1), error=True)

for dtype in present([i32, i64, f32, f64]):
    for start, limit, delta in [(0, 5, 1), (3, 18, 3), (5, 0, -2), (0, 0, 1), (2, 2, -1), (0, 1000, 1)]:
        case("Range", np.array(start, dtype), np.array(limit, dtype), np.array(delta, dtype))
    case("Range", np.array(0, dtype), np.array(5, dtype), np.array(0, dtype), error=True)
    case("Range", np.array(5, dtype), np.array(0, dtype), np.array(1, dtype), error=True)
case("Range", np.array(0, f32), np.array(1, f32), np.array(0.1, f32), label="tenths", tol=1e-5)
for dtype in present([f32, f64]):
    for start, stop, num in [(0, 1, 5), (3, 3, 1), (-1, 2, 100), (2, -2, 3)]:
        case("LinSpace", np.array(start, dtype), np.array(stop, dtype), np.array(num, i32), tol=1e-5)
case("LinSpace", np.array(0, f32), np.array(1, f32), np.array(0, i32), error=True)
for dtype in (i32, i64):
    case("InvertPermutation", np.array([2, 0, 1, 3], dtype), const=())
    case("InvertPermutation", np.zeros((0,), dtype), const=())
    for a, b in [([2, 3], [3]), ([], [4]), ([2, 1], [1, 3]), ([5], [5]), ([], []), ([2, 1, 4], [3, 1])]:
        case("BroadcastArgs", np.array(a, dtype), np.array(b, dtype), const=())
        case("BroadcastGradientArgs", np.array(a, dtype), np.array(b, dtype), const=())
    case("BroadcastArgs", np.array([2], dtype), np.array([3], dtype), const=(), error=True)
    case("ConcatOffset", np.array(1, i32), [ints(2, 3), ints(2, 1), ints(2, 5)], const=())
case("InvertPermutation", ints(0, 0), const=(), error=True)
case("InvertPermutation", ints(0, 7), const=(), error=True)

case("Reshape", values(f32, (6,)), ints(4), error=True)
case("Reshape", values(f32, (6,)), ints(-1, -1), error=True)
case("Reshape", values(f32, (6,)), ints(-1, 4), error=True)
case("ExpandDims", values(f32, (2,)), np.array(3, i32), error=True)
case("Squeeze", values(f32, (2, 1)), attrs={"squeeze_dims": [0]}, error=True)
case("Transpose", values(f32, (2, 3)), ints(0, 0), error=True)
case("Transpose", values(f32, (2, 3)), ints(0), error=True)
case("ConcatV2", [values(f32, (2, 3)), values(f32, (3, 3))], np.array(1, i32), error=True, const=(1,))
case("ConcatV2", [values(f32, (2, 3)), values(f32, (2, 3))], np.array(2, i32), error=True, const=(1,))
case("Split", np.array(0, i32), values(f32, (5,)), attrs={"num_split": 2}, error=True)
case("SplitV", values(f32, (5,)), ints(2, 2), np.array(0, i32), attrs={"num_split": 2}, error=True)
case("Slice", values(f32, (5,)), ints(3), ints(4), error=True)
case("Gather", values(f32, (3,)), ints(0, 3), const=(), error=True)
case("GatherV2", values(f32, (3,)), ints(-1), np.array(0, i32), const=(), error=True)
case("GatherV2", values(f32, (3,)), ints(0), np.array(1, i32), const=(), error=True)
case("GatherNd", values(f32, (3,)), ints(3).reshape(1, 1), const=(), error=True)
case("ScatterNd", ints(5).reshape(1, 1), values(f32, (1,)), ints(3), const=(), error=True)
case("Tile", values(f32, (3,)), ints(2, 2), error=True)
case("Pad", values(f32, (3,)), ints(-1, 0).reshape(1, 2), error=True)
case("Fill", ints(-1), np.array(0, f32), error=True)
case("BroadcastTo", values(f32, (2,)), ints(3), error=True)
case("Unpack", values(f32, (3,)), attrs={"num": 2}, error=True)
case("MirrorPad", values(f32, (3,)), ints(3, 0).reshape(1, 2), attrs={"mode": "REFLECT"}, error=True)
case("ReverseV2", values(f32, (3,)), ints(0, 0), error=True)

for dtype in present(NUMBERS + [boolean]):
    x = values(dtype, (3, 4))
    case("Diag", values(dtype, (3,)), grad=dtype == f32)
    case("DiagPart", values(dtype, (3, 3)), grad=dtype == f32)
    case("MatrixDiag", values(dtype, (2, 3)), grad=dtype == f32)
    case("MatrixDiagPart", values(dtype, (2, 3, 4)), grad=dtype == f32)
    case("MatrixSetDiag", values(dtype, (2, 3, 3)), values(dtype, (2, 3), key=1), grad=dtype == f32)
    case("MatrixBandPart", values(dtype, (4, 4)), np.array(1, i64), np.array(-1, i64), const=(1, 2), grad=dtype == f32)
    case("TensorScatterUpdate", values(dtype, (4, 2)), ints(1, 3).reshape(2, 1), values(dtype, (2, 2), key=1), const=(), grad=dtype == f32)
    if dtype != boolean:
        case("TensorScatterAdd", values(dtype, (4, 2)), ints(1, 1).reshape(2, 1), values(dtype, (2, 2), key=1), const=(), grad=dtype == f32)
    case("SpaceToDepth", values(dtype, (1, 4, 4, 2)), attrs={"block_size": 2}, grad=dtype == f32)
    case("DepthToSpace", values(dtype, (1, 2, 2, 8)), attrs={"block_size": 2}, grad=dtype == f32)
    case("BatchToSpaceND", values(dtype, (4, 2, 2, 1)), ints(2, 2), np.zeros((2, 2), i32), const=(1, 2), grad=dtype == f32)
    case("SpaceToBatchND", values(dtype, (1, 4, 4, 1)), ints(2, 2), np.zeros((2, 2), i32), const=(1, 2), grad=dtype == f32)
    case("Roll", x, ints(1, -1), ints(0, 1), const=(1, 2), grad=dtype == f32)
    case("Bitcast", values(i32, (3, 4)), attrs={"type": "float"}) if dtype == i32 else None
    if dtype.kind in "fiu":
        case("TopKV2", distinct(dtype, (3, 6)), np.array(2, i32), const=(1,), grad=dtype == f32)
        case("InTopK", values(f32, (3, 6)), ints(1, 0, 5), attrs={"k": 2}) if dtype == f32 else None
        case("ListDiff", values(dtype, (6,)), values(dtype, (3,), key=1))
    case("EditDistance", np.zeros((0, 2), i64), np.zeros((0,), i32), np.array([1, 1], i64), np.zeros((0, 2), i64), np.zeros((0,), i32), np.array([1, 1], i64), const=()) if dtype == i32 else None
    case("SparseToDense", ints(1, 3), ints(5), values(dtype, (2,)), values(dtype, (), key=2), const=(1,))

# Strings.
case("StringJoin", [values(string, (3,)), values(string, (), key=1), values(string, (3,), key=2)], attrs={"separator": "-"})
case("StringJoin", [values(string, (2, 2)), values(string, (2, 2), key=1)])
case("StringJoin", [values(string, (2,)), values(string, (3,))], error=True)
for shape in FEW:
    case("AsString", values(i32, shape))
    case("StringLength", values(string, shape))
    case("StringUpper", values(string, shape))
    case("StringLower", values(string, shape))
    case("StringStrip", values(string, shape))
    case("EncodeBase64", values(string, shape))
    case("StringToHashBucketFast", values(string, shape), attrs={"num_buckets": 1000})
    case("StringToHashBucket", values(string, shape), attrs={"num_buckets": 1000})
    case("StringToHashBucketStrong", values(string, shape), attrs={"num_buckets": 1000, "key": [1, 2]})
for dtype in present([f32, f64, i64, i8, boolean, c64]):
    case("AsString", values(dtype, (4,)))
case("AsString", values(f32, (4,)), attrs={"precision": 3, "width": 8, "fill": "0"})
case("AsString", values(f32, (4,)), attrs={"scientific": True})
case("StringToNumber", np.array([b"1.5", b"-2", b"1e3", b"inf"], object), attrs={"out_type": "float"})
case("StringToNumber", np.array([b"15", b"-2"], object), attrs={"out_type": "int32"})
case("StringToNumber", np.array([b"x"], object), attrs={"out_type": "int64"}, error=True)
case("ReduceJoin", values(string, (2, 3)), ints(1), attrs={"separator": ","})
case("Substr", np.array([b"hello", b"world"], object), ints(1, 2), ints(3, 2), const=())
case("RegexReplace", np.array([b"hello", b"world"], object), np.array(b"[lo]+", object), np.array(b"_", object))
case("RegexFullMatch", np.array([b"hello", b"world"], object), np.array(b"h.*o", object))
case("StringSplit", np.array([b"a b  c", b"d"], object), np.array(b" ", object))
case("DecodeRaw", np.array([b"\x01\x00\x00\x00", b"\x02\x00\x00\x00"], object), attrs={"out_type": "int32"})


# Constants: every dtype in every way that a TensorProto can hold it.
FIELD = {"float32": "float_val", "float64": "double_val", "int32": "int_val", "int64": "int64_val", "uint8": "int_val", "int8": "int_val", "int16": "int_val",
         "uint16": "int_val", "uint32": "uint32_val", "uint64": "uint64_val", "bool": "bool_val", "float16": "half_val", "bfloat16": "half_val"}


def constant(tf, dtype, shape, fill):
    """A Const whose TensorProto is filled by `fill(proto)`."""
    from tensorflow.core.framework import attr_value_pb2, tensor_pb2
    proto = tensor_pb2.TensorProto(dtype=tf.as_dtype(dtype).as_datatype_enum)
    proto.tensor_shape.CopyFrom(tf.TensorShape(shape).as_proto())
    fill(proto)
    attrs = {"value": attr_value_pb2.AttrValue(tensor=proto), "dtype": attr_value_pb2.AttrValue(type=proto.dtype)}
    return tf.get_default_graph().create_op("Const", [], [tf.as_dtype(dtype)], attrs=attrs).outputs[0]


for dtype in present([f32, f64, i32, i64, u8, i8, i16, u16, u32, u64, boolean, f16, bfloat16]):
    @script("Const", label=dtype.name)
    def const_forms(tf, dtype=dtype):
        x = values(dtype, (2, 3))
        raw = x.view(np.uint16).reshape(-1) if FIELD[dtype.name] == "half_val" else x.reshape(-1)
        numbers = [v.item() for v in raw]

        def field(n):
            return lambda p: getattr(p, FIELD[dtype.name]).extend(numbers[:n])
        made = [constant(tf, dtype, (2, 3), field(6)), constant(tf, dtype, (2, 3), field(1)), constant(tf, dtype, (2, 3), field(4)), constant(tf, dtype, (2, 3), field(0)),
                constant(tf, dtype, (0, 3), field(0)), constant(tf, dtype, (), field(1)), tf.constant(x), tf.constant(x[0])]
        made.append(constant(tf, dtype, (2, 3), lambda p: setattr(p, "tensor_content", x.tobytes())))
        return [([tf.identity(m) for m in made], {}, []), (made, {}, [])]


@script("Const", label="complex and string")
def const_others(tf):
    c = constant(tf, c64, (3,), lambda p: p.scomplex_val.extend([1, 2, 3, 4, 5, 6]))
    d = constant(tf, c128, (2,), lambda p: p.dcomplex_val.extend([1, 2]))
    s = constant(tf, tf.string, (3,), lambda p: p.string_val.extend([b"a", b"x" * 50]))
    e = constant(tf, tf.string, (2,), lambda p: None)
    return [([c, d, s, e, tf.constant([b"", b"z"])], {}, [])]


@script("PlaceholderWithDefault")
def default(tf):
    w = tf.raw_ops.PlaceholderWithDefault(input=tf.constant([1.0, 2.0]), shape=[None])
    y = tf.square(w)
    return [([y], {}, []), ([y], {w: values(f32, (3,))}, [])]


@script("IdentityN", label="part of the outputs")
def identity_n(tf):
    x = tf.placeholder(tf.float32, [2], "x")
    y = tf.raw_ops.IdentityN(input=[x, tf.constant([1, 2, 3]), tf.constant(b"s")])
    return [([y[1], y[2]], {x: values(f32, (2,))}, []), (list(y), {x: values(f32, (2,))}, [])]

for index in (i32, i64):
    for dtype in present([f32, f16, i32, i64, u8, boolean, c64, string]):
        for shape, places in [((5,), [[1], [3]]), ((3, 4), [[0, 1], [0, 3], [2, 0]]), ((2, 3, 2), [[0, 0, 0], [1, 2, 1]]), ((4,), np.zeros((0, 1)))]:
            places = np.array(places, index)
            case("SparseToDense", places, np.array(shape, index), values(dtype, (len(places),)), values(dtype, (), key=1), const=(1,), grad=dtype == f32)
        case("SparseToDense", ints(1, 3, dtype=index), ints(5, dtype=index), values(dtype, ()), values(dtype, (), key=1), const=(1,))
for places, more in [([3, 1], {}), ([1, 1], {}), ([1, 9], {}), ([-1, 2], {}), ([1, 2, 3], {}), ([1, 9], {"validate_indices": False})]:
    case("SparseToDense", ints(*places), ints(5), values(f32, (2,)), values(f32, ()), attrs=more, const=(1,), error=True)
case("SparseToDense", ints(3, 1), ints(5), values(f32, (2,)), values(f32, ()), attrs={"validate_indices": False}, const=(1,))
case("SparseToDense", np.array(2, i32), ints(5), values(f32, ()), values(f32, (), key=1), const=(1,))
for dtype in present([f32, f64, i32, c64, string]):
    for shape, begin, end, strides, part in [((5, 3), [1, 0], [4, 3], [2, 1], (2, 3)), ((4,), [3], [0], [-1], (3,)), ((2, 3), [0], [9], [1], (2, 3))]:
        case("TensorStridedSliceUpdate", values(dtype, shape), ints(*begin), ints(*end), ints(*strides), values(dtype, part, key=1), const=(1, 2, 3),
             grad=dtype in (f32, f64))
    if dtype != string:
        case("InplaceUpdate", values(dtype, (4, 2)), ints(2, 0), values(dtype, (2, 2), key=1), const=())
        case("ScatterNdNonAliasingAdd", values(dtype, (4, 2)), np.array([[1], [3], [1]]), values(dtype, (3, 2), key=1), const=(), grad=dtype == f32)
for kind in (i32, i64):
    case("UnravelIndex", ints(22, 41, 37, dtype=kind), ints(7, 6, dtype=kind), const=())
    case("UnravelIndex", np.array(1621, kind), ints(6, 7, 8, 9, dtype=kind), const=())
    case("DataFormatDimMap", ints(0, 1, 2, 3, -1, -4, dtype=kind), const=())
    case("DataFormatDimMap", ints(0, 1, 2, 3, 4, dtype=kind), attrs={"src_format": "NDHWC", "dst_format": "NCDHW"}, const=())
    for x in ([1, 2, 3, 4], [1, 2], [[1, 2], [3, 4]], [[1, 2], [3, 4], [5, 6], [7, 8]]):
        case("DataFormatVecPermute", np.array(x, kind), const=())
        case("DataFormatVecPermute", np.array(x, kind), attrs={"src_format": "NCHW", "dst_format": "HWNC"}, const=())
case("UnravelIndex", ints(42), ints(7, 6), const=(), error=True)
