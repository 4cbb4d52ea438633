# cases_rest — operations that stand in no other table: counts as sparse tensors, maps, ragged tensors as variants, ranges of
# quantized tensors, vocabularies, batches cut anew, stateless gammas and shuffles.
import os
import tempfile

from cases import *
from cases_data import data, pipeline

ONES = np.zeros(0, f32)

# ---- counts

for dtype in (i32, i64):
    for out in (f32, f64, i32, i64):
        for binary in (False, True):
            for most, least in ((-1, -1), (3, -1), (-1, 9), (4, 6)):
                attrs = {"binary_output": binary, "maxlength": most, "minlength": least}
                for x in (np.array([1, 3, 1, 0, 7, 3], dtype), np.array([[1, 3, 1], [0, 7, 7]], dtype), np.zeros((0,), dtype),
                          np.zeros((2, 0), dtype), np.zeros((0, 3), dtype)):
                    case("DenseCountSparseOutput", x, np.zeros(0, out), attrs=attrs)
                    if not binary and x.size:
                        case("DenseCountSparseOutput", x, values(out, x.shape, 1, 5), attrs=attrs)
                flat = np.array([1, 3, 1, 0, 7, 3], dtype)
                for weights in [np.zeros(0, out)] + ([] if binary else [values(out, (6,), 1, 5)]):
                    case("SparseCountSparseOutput", np.array([[0, 1], [0, 2], [1, 0], [1, 1], [3, 0], [3, 1]], i64), flat,
                         np.array([4, 3], i64), weights, attrs=attrs, const=())
                    case("SparseCountSparseOutput", np.array([[0], [1], [2], [3], [4], [5]], i64), flat, np.array([7], i64), weights,
                         attrs=attrs, const=())
                    case("RaggedCountSparseOutput", np.array([0, 2, 2, 6], i64), flat, weights, attrs=attrs, const=())
COUNT = {"binary_output": False}
case("DenseCountSparseOutput", np.zeros((1, 1, 1), i32), ONES, attrs=COUNT, error=True)
case("DenseCountSparseOutput", np.zeros((), i32), ONES, attrs=COUNT, error=True)
case("DenseCountSparseOutput", np.zeros((2,), i32), np.zeros((3,), f32), attrs=COUNT, error=True)
case("SparseCountSparseOutput", np.array([[4, 0]], i64), np.ones(1, i32), np.array([4, 3], i64), ONES, attrs=COUNT, const=(), error=True)
case("SparseCountSparseOutput", np.array([[0, 0]], i64), np.ones(2, i32), np.array([4, 3], i64), ONES, attrs=COUNT, const=(), error=True)
case("DenseCountSparseOutput", np.array([1, -1], i32), ONES, attrs=COUNT, error=True)
case("RaggedCountSparseOutput", np.array([0], i64), np.zeros(0, i32), ONES, attrs=COUNT, const=(), error=True)
case("RaggedCountSparseOutput", np.array([0, 5], i64), np.zeros(2, i32), ONES, attrs=COUNT, const=(), error=True)
case("RaggedCountSparseOutput", np.array([1, 2], i64), np.zeros(2, i32), ONES, attrs=COUNT, const=(), error=True)

# ---- strings by segment

words = np.array([[b"a", b"bc"], [b"", b"d"], [b"ef", b"g"], [b"h", b"i"]], object)
for kind in (i32, i64):
    for n in (i32, i64):
        for separator in ("", ", "):
            attrs = {"separator": separator}
            case("UnsortedSegmentJoin", words, np.array([1, 0, 1, 3], kind), np.array(4, n), attrs=attrs)
            case("UnsortedSegmentJoin", words, np.array([[0, 1], [1, 2], [0, 0], [2, 2]], kind), np.array(3, n), attrs=attrs)
            case("UnsortedSegmentJoin", words[:, 0], np.array([0, 0, 0, 0], kind), np.array(1, n), attrs=attrs)
case("UnsortedSegmentJoin", words, np.array([1, 0, 1, 4], i32), np.array(4, i32), error=True)
case("UnsortedSegmentJoin", words, np.array([1, 0, 1], i32), np.array(4, i32), error=True)
case("UnsortedSegmentJoin", words, np.array(1, i32), np.array(4, i32), error=True)

# ---- the largest

for dtype in (f32, f16, bfloat16):
    if dtype is None:
        continue
    for shape, axis in (((7,), -1), ((3, 8), -1), ((3, 8), 0), ((2, 5, 3), 1)):
        for most in (True, False):
            for k in (1, 2, 3):
                case("ApproxTopK", values(dtype, shape, -9, 9), attrs={"k": k, "reduction_dimension": axis, "is_max_k": most})

# ---- ranges of quantized tensors

for low, high in ((-1.0, 1.0), (0.0, 6.0), (-3.5, 0.25), (2.0, 2.0)):
    for numbers in ([0, 2**30, -2**30], [-2**31, 2**31 - 1], [5, 7], [-5, -7]):
        @script("RequantizationRange", label="%r in [%r, %r]" % (numbers, low, high))
        def one(tf, numbers=numbers, low=low, high=high):
            x = tf.placeholder(tf.int32, [len(numbers)])
            q = tf.bitcast(x, tf.qint32)
            return [(list(tf.raw_ops.RequantizationRange(input=q, input_min=low, input_max=high)), {x: np.array(numbers, i32)}, [])]

        @script("RequantizationRangePerChannel", label="%r in [%r, %r]" % (numbers, low, high))
        def channels(tf, numbers=numbers, low=low, high=high):
            x = tf.placeholder(tf.int32, [1, 1, len(numbers), 2])
            q = tf.bitcast(x, tf.qint32)
            out = []
            for clip in (0.5, 100.0):
                out += tf.raw_ops.RequantizationRangePerChannel(input=q, input_min=[low, low / 2], input_max=[high, high * 2], clip_value_max=clip)
            return [(out, {x: np.array([[[[n, n // 3] for n in numbers]]], i32)}, [])]

# ---- stateless

for dtype in (f32, f64, f16):
    for kind in (i32, i64):
        for shape, alpha in (((3,), 0.5), ((4, 2), [0.3, 3.0]), ((2, 3), 1.0), ((500,), 2.5), ((300, 2), [0.9, 100.0]), ((0,), 1.0)):
            case("StatelessRandomGammaV2", np.array(shape, kind), np.array([5, -7], kind), np.array(alpha, dtype))
            case("StatelessRandomGammaV3", np.array(shape, kind), np.array([5], u64), np.array([7, 2**63 + 1], u64), np.array(1, i32),
                 np.array(alpha, dtype))
case("StatelessRandomGammaV2", np.array([3], i32), np.array([5, 7], i32), np.array([1, 2], f32), error=True)
for dtype in ALL:
    if dtype is None:
        continue
    for shape in ((7,), (30, 2), (1, 3), (0,), ()):
        case("StatelessShuffle", values(dtype, shape), np.array([5], u64), np.array([7, 2**63 + 1], u64), np.array(1, i32), const=())

# ---- lists and maps


@script("TensorListPushBackBatch")
def push_batch(tf):
    r = tf.raw_ops
    lists = tf.stack([r.EmptyTensorList(element_shape=[2], max_num_elements=-1, element_dtype=tf.float32) for _ in range(3)])
    x = tf.placeholder(tf.float32, [3, 2])
    for _ in range(2):
        lists = r.TensorListPushBackBatch(input_handles=lists, tensor=x)
    out = [r.TensorListStack(input_handle=one, element_shape=[2], element_dtype=tf.float32) for one in tf.unstack(lists)]
    wide = tf.placeholder(tf.float32, [3, None])
    bad = r.TensorListPushBackBatch(input_handles=lists, tensor=wide)
    size = r.TensorListLength(input_handle=bad[0])
    return [(out, {x: values(f32, (3, 2))}, []),
            ([size], {x: values(f32, (3, 2)), wide: values(f32, (3, 3))}, [], {"error": True})]


for key_type, value_type in ((f32, i32), (string, f32), (i64, string)):
    @script("TensorMapInsert", label="%s to %s" % (key_type, value_type))
    def maps(tf, key_type=key_type, value_type=value_type):
        r = tf.raw_ops
        kind, of = [tf.string if t == string else tf.as_dtype(t) for t in (key_type, value_type)]
        keys, things = tf.placeholder(kind, [3]), tf.placeholder(of, [3, 2])
        empty = r.EmptyTensorMap()
        one = r.TensorMapInsert(input_handle=empty, key=keys[0], value=things[0])
        two = r.TensorMapInsert(input_handle=one, key=keys[1], value=things[1])
        again = r.TensorMapInsert(input_handle=two, key=keys[0], value=things[2])
        gone = r.TensorMapErase(input_handle=again, key=keys[1], value_dtype=of)
        out = [r.TensorMapSize(input_handle=m) for m in (empty, one, two, again, gone)]
        out += [r.TensorMapHasKey(input_handle=m, key=keys[i]) for m in (empty, one, two, again, gone) for i in range(3)]
        out += [r.TensorMapLookup(input_handle=m, key=keys[0], value_dtype=of) for m in (one, two, again, gone)]
        out += [r.TensorMapStackKeys(input_handle=m, key_dtype=kind) for m in (one, gone)]
        feeds = {keys: values(key_type, (3,), key=1) if key_type != string else np.array([b"a", b"bb", b"c"], object), things: values(value_type, (3, 2))}
        fails = [r.TensorMapLookup(input_handle=one, key=keys[2], value_dtype=of),
                 r.TensorMapSize(input_handle=r.TensorMapErase(input_handle=one, key=keys[2], value_dtype=of)),
                 r.TensorMapStackKeys(input_handle=empty, key_dtype=kind)]
        return [(out, feeds, [])] + [([f], feeds, [], {"error": True}) for f in fails]


# ---- ragged tensors as variants

for dtype in ALL:
    if dtype is None:
        continue
    for splits in (i32, i64):
        @script("RaggedTensorToVariant", label="%s by %s" % (dtype, splits))
        def ragged(tf, dtype=dtype, splits=splits):
            r = tf.raw_ops
            x = tf.placeholder(tf.string if dtype == string else tf.as_dtype(dtype), [6, 2])
            outer, inner = np.array([0, 2, 2, 3], splits), np.array([0, 1, 4, 6], splits)
            out = []

            def back(encoded, inner_rank, all_rank):
                flat = r.RaggedTensorFromVariant(encoded_ragged=encoded, input_ragged_rank=inner_rank, output_ragged_rank=all_rank, Tvalues=x.dtype,
                                                 Tsplits=splits)
                out.extend(flat.output_nested_splits)
                out.append(flat.output_dense_values)
            for batched in (False, True):
                two = r.RaggedTensorToVariant(rt_nested_splits=[outer, inner], rt_dense_values=x, batched_input=batched)
                one = r.RaggedTensorToVariant(rt_nested_splits=[inner], rt_dense_values=x, batched_input=batched)
                back(two, 1 if batched else 2, 2)
                back(two, -1, 2)
                back(one, 0 if batched else 1, 1)
                out.append(tf.shape(two))
                if batched:
                    back(tf.reshape(one[:2], [2, 1]), 0, 2)
                    back(tf.stack([two, two]), 1, 3)
                    if dtype != string:
                        grad = r.RaggedTensorToVariantGradient(encoded_ragged_grad=one, row_splits=inner, dense_values_shape=[6, 2], Tvalues=x.dtype)
                        out.append(grad)
            return [(out, {x: values(dtype, (6, 2))}, [])]


# ---- batches cut anew

for n, size, replicas in ((10, 4, 2), (10, 4, 3), (9, 3, 3), (7, 7, 4), (6, 2, 5)):
    @pipeline("RebatchDataset", -(-n // size) * replicas, label="%d by %d for %d" % (n, size, replicas))
    def shared(tf, n=n, size=size, replicas=replicas):
        batches = data(tf).range(n).batch(size)
        return wrapped(tf, batches, tf.raw_ops.RebatchDataset, num_replicas=replicas)


def wrapped(tf, batches, op, **more):
    from tensorflow.python.data.ops import dataset_ops
    spec = tf.TensorSpec([None], tf.int64)
    variant = op(input_dataset=batches._variant_tensor, output_types=[tf.int64], output_shapes=[[None]], **more)
    return tf.data.Dataset._wrap(variant, spec) if hasattr(tf.data.Dataset, "_wrap") else dataset_ops.DatasetV1Adapter(
        dataset_ops._VariantDataset(variant, spec))


for n, size, sizes, drops, count in ((10, 4, [3], False, 4), (10, 4, [3], True, 3), (10, 4, [1, 2], False, 7), (10, 4, [5, 0, 2], False, 5), (10, 4, [4], True, 2),
                                     (6, 2, [6], False, 1), (6, 2, [7], True, 0), (7, 3, [2, 2, 1], True, 4)):
    @pipeline("RebatchDatasetV2", count, label="%d by %d to %r %s" % (n, size, sizes, drops), after=2)
    def sized(tf, n=n, size=size, sizes=sizes, drops=drops):
        return wrapped(tf, data(tf).range(n).batch(size), tf.raw_ops.RebatchDatasetV2, batch_sizes=np.array(sizes, i64), drop_remainder=drops)


# ---- vocabularies and matrices

case("SparseCountSparseOutput", np.zeros((0, 2), i64), np.zeros(0, i32), np.array([0, 3], i64), ONES, attrs=COUNT, const=(), error=True)
case("SparseCountSparseOutput", np.zeros((0, 2), i64), np.zeros(0, i32), np.array([2, 0], i64), ONES, attrs=COUNT, const=())

FOLDER = tempfile.mkdtemp(prefix="millrace-remap-")


def written(name, lines):
    path = os.path.join(FOLDER, name)
    with open(path, "w") as f:
        f.write("".join(line + "\n" for line in lines))
    return np.array(path.encode(), object)


OLD, NEW = written("old.txt", ["knitting", "flannel", "eminem", "obama"]), written("new.txt", ["eminem", "obama", "drake", "knitting"])
for offset, count, most in ((0, 4, -1), (1, 2, -1), (1, 3, 1), (0, 0, -1), (2, 2, 3), (0, 4, 0)):
    case("GenerateVocabRemapping", NEW, OLD, attrs={"new_vocab_offset": offset, "num_new_vocab": count, "old_vocab_size": most})
case("GenerateVocabRemapping", NEW, OLD, attrs={"new_vocab_offset": 2, "num_new_vocab": 3}, error=True)
TWICE, NONE = written("twice.txt", ["eminem", "obama", "eminem"]), written("none.txt", [])
for old, most in ((OLD, 9), (TWICE, -1), (TWICE, 2), (NONE, -1)):
    case("GenerateVocabRemapping", NEW, old, attrs={"new_vocab_offset": 0, "num_new_vocab": 2, "old_vocab_size": most}, error=most != 2)
case("GenerateVocabRemapping", NONE, OLD, attrs={"new_vocab_offset": 0, "num_new_vocab": 0}, error=True)
case("GenerateVocabRemapping", np.array(b"/none", object), OLD, attrs={"new_vocab_offset": 0, "num_new_vocab": 1}, error=True)

for rows, columns, fresh in (([2, 0, 1], [], 0), ([2, -1, 0], [], 3), ([0, 1, 2], [1, -1, 0], 3), ([-1, 1, -1], [-1, 2, 0], 7), ([0, 1, 5], [], 0),
                             ([2, -1, 0], [], 2), ([2, -1, 0], [], 4)):
    @script("LoadAndRemapMatrix", label="%r %r %d" % (rows, columns, fresh))
    def remapped(tf, rows=rows, columns=columns, fresh=fresh):
        r = tf.raw_ops
        prefix = os.path.join(FOLDER, "matrix")
        x = tf.placeholder(tf.float32, [3, 3])
        saved = r.SaveV2(prefix=prefix, tensor_names=["m"], shape_and_slices=[""], tensors=[x])
        y = r.LoadAndRemapMatrix(ckpt_path=prefix, old_tensor_name="m", row_remapping=np.array(rows, i64), col_remapping=np.array(columns, i64),
                                 initializing_values=np.arange(fresh, dtype=f32) + 100, num_rows=3, num_cols=3)
        known = rows == [0, 1, 5] or fresh in (2, 4)
        return [([], {x: values(f32, (3, 3))}, [saved]), ([y], {}, [], {"error": True}) if known else ([y], {}, [])]


@script("FakeQueue")
def fake_queue(tf):
    queue = tf.queue.FIFOQueue(5, [tf.float32], [[]])
    fake = tf.raw_ops.FakeQueue(resource=queue.queue_ref)
    put = tf.raw_ops.QueueEnqueue(handle=fake, components=[3.0])
    return [([], {}, [put]), ([], {}, [put]), ([queue.size()], {}, []), ([tf.raw_ops.QueueDequeue(handle=fake, component_types=[tf.float32])[0]], {}, [])]
