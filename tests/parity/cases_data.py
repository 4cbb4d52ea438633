# cases_data — pipelines that TensorFlow's Python writes (tf.data), run to their end and beyond: elements, order, errors.
import functools
import gzip
import os
import tempfile
import zlib

from cases import *

END = {"error": True}


def run_to_end(tf, dataset, n, after=2, initializable=False):
    """Steps that get n elements, then `after` errors; an iterator with an initializer goes through it all twice."""
    v1 = tf.data
    components = tf.nest.flatten
    if initializable:
        iterator = v1.make_initializable_iterator(dataset)
        once = [([], {}, [iterator.initializer])]
    else:
        iterator, once = v1.make_one_shot_iterator(dataset), []
    element = components(iterator.get_next(), expand_composites=True)
    once = once + [(element, {}, [])] * n + [(element, {}, [], END)] * after
    return once * 2 if initializable else once


def pipeline(op, n, label="", initializable=None, after=2):
    """Declares the dataset that the function makes: n elements, by a one-shot and an initializable iterator."""
    def declare(make):
        for init in ([False, True] if initializable is None else [initializable]):
            @script(op, label="%s %s" % (label or make.__name__, "initializable" if init else "one shot"))
            def build(tf, init=init):
                return run_to_end(tf, make(tf), n, after, init)
        if after == 2:
            for at in sorted({min(1, n), n // 2}):
                @script("SerializeIterator", label="%s %s at %d" % (op, label or make.__name__, at))
                def resumed(tf, at=at):
                    return save_and_restore(tf, make(tf), n, at)
        return make
    return declare


def save_and_restore(tf, dataset, n, at):
    """`at` elements, the state into a queue (closed, so that nobody waits where there is none), the rest and the end, back to the
    state, the rest and the end again."""
    iterator = tf.data.make_initializable_iterator(dataset)
    element = tf.nest.flatten(iterator.get_next(), expand_composites=True)
    queue = tf.queue.FIFOQueue(2, [tf.variant])
    saved = queue.enqueue([tf.raw_ops.SerializeIterator(resource_handle=iterator._iterator_resource)])
    restored = tf.raw_ops.DeserializeIterator(resource_handle=iterator._iterator_resource, serialized=queue.dequeue())
    step, end = (element, {}, []), (element, {}, [], END)
    return ([([], {}, [iterator.initializer])] + [step] * at + [([], {}, [saved]), ([], {}, [queue.close()])] + [step] * (n - at) + [end, ([], {}, [restored])]
            + [step] * (n - at) + [end])


def data(tf):
    return tf.data.Dataset


# ---- sources

@pipeline("TensorDataset", 1)
def tensors(tf):
    return data(tf).from_tensors((np.arange(6).reshape(2, 3), b"abc", [True, False]))


for kind in (f32, f64, f16, bfloat16, i8, i64, u8, boolean, string, c64):
    @pipeline("TensorSliceDataset", 3, label=str(kind))
    def slices(tf, kind=kind):
        return data(tf).from_tensor_slices((values(kind, (3, 2)), values(kind, (3,), key=1)))


@pipeline("TensorSliceDataset", 0)
def no_slices(tf):
    return data(tf).from_tensor_slices(np.zeros((0, 3), np.float32))


@pipeline("SparseTensorSliceDataset", 4)
def sparse_slices(tf):
    return data(tf).from_sparse_tensor_slices(tf.SparseTensor([[0, 1, 2], [0, 3, 0], [2, 0, 1]], [1.0, 2, 3], [4, 5, 6]))


for numbers in [(5,), (2, 9), (2, 9, 3), (9, 2, -3), (3, 3), (9, 2), (0, -5, -2)]:
    @pipeline("RangeDataset", len(range(*numbers)), label=str(numbers))
    def ranges(tf, numbers=numbers):
        return data(tf).range(*numbers)

for kind in ("int32", "float32", "float64", "uint8", "bfloat16"):
    @pipeline("RangeDataset", 3, label=kind)
    def range_of(tf, kind=kind):
        return data(tf).range(1, 7, 2, output_type=getattr(tf, kind))


# ---- batches

for size, drop in [(1, False), (3, False), (3, True), (7, True), (20, False), (20, True)]:
    @pipeline("BatchDatasetV2", 7 // size if drop else -(-7 // size), label="%d %s" % (size, drop))
    def batches(tf, size=size, drop=drop):
        return data(tf).range(7).map(lambda i: (i, tf.fill([2, 3], i), tf.as_string(i))).batch(size, drop)


@script("BatchDatasetV2", label="elements that differ")
def batch_differs(tf):
    element = tf.data.make_one_shot_iterator(data(tf).range(4).map(lambda i: tf.range(i)).batch(2)).get_next()
    return [([element], {}, [], END)] * 2 + [([element], {}, [], END)]


for size in (1, 2, 3, 10):
    @pipeline("PaddedBatchDatasetV2", -(-7 // size), label=str(size))
    def padded(tf, size=size):
        return data(tf).range(7).map(lambda i: (tf.fill([i, 2], i), tf.fill([i], tf.as_string(i)))).padded_batch(
            size, ([None, 3], [8]), (tf.constant(-1, tf.int64), "none"))


@pipeline("PaddedBatchDatasetV2", 2, label="scalars, dropped")
def padded_scalars(tf):
    return data(tf).range(5).padded_batch(2, [], drop_remainder=True)


@script("PaddedBatchDatasetV2", label="too long")
def padded_long(tf):
    element = tf.data.make_one_shot_iterator(data(tf).range(3, 6).map(lambda i: tf.fill([i], i)).padded_batch(2, [4])).get_next()
    return [([element], {}, []), ([element], {}, [], END), ([element], {}, [], END)]


@pipeline("UnbatchDataset", 7)
def unbatched(tf):
    return data(tf).range(7).map(lambda i: (i, tf.as_string(i))).batch(3).unbatch()


# ---- functions

@pipeline("MapDataset", 6)
def maps(tf):
    captured = tf.constant([1, 2, 3], tf.int64)
    return data(tf).range(6).map(lambda i: {"a": i + captured, "b": tf.as_string(i), "c": (tf.cast(i, tf.float32), i * i)})


@script("MapDataset", label="an error in the middle")
def map_fails(tf):
    ds = data(tf).range(5).map(lambda i: tf.debugging.check_numerics(1.0 / tf.cast(i - 2, tf.float32), "no number"))
    element = tf.data.make_one_shot_iterator(ds).get_next()
    return [([element], {}, [])] * 2 + [([element], {}, [], END)] + [([element], {}, [])] * 2 + [([element], {}, [], END)] * 2


@pipeline("MapDataset", 5)
def map_with_loop(tf):
    return data(tf).range(5).map(lambda i: tf.while_loop(lambda j, s: j < i, lambda j, s: (j + 1, s + j), [tf.constant(0, tf.int64), i])[1])


@pipeline("MapDataset", 5)
def map_with_branch(tf):
    return data(tf).range(5).map(lambda i: tf.cond(i > 2, lambda: i * 10, lambda: -i))


@pipeline("FilterDataset", 4)
def filters(tf):
    return data(tf).range(10).map(lambda i: (i, i * i)).filter(lambda i, j: tf.equal(i % 3, 0))


@pipeline("FilterDataset", 0)
def filters_all(tf):
    return data(tf).range(10).filter(lambda i: i > 100)


@pipeline("FlatMapDataset", 10)
def flat(tf):
    return data(tf).range(5).flat_map(lambda i: data(tf).range(i))


@pipeline("FlatMapDataset", 20)
def flat_nested(tf):
    return data(tf).range(5).flat_map(lambda i: data(tf).range(i).flat_map(lambda j: data(tf).range(j + 1).map(lambda m: m + 10 * i)))


@pipeline("ScanDataset", 6)
def scans(tf):
    return data(tf).range(6).scan(tf.constant(1, tf.int64), lambda s, i: (s + i, (s, tf.as_string(i))))


@pipeline("TakeWhileDataset", 4)
def takes_while(tf):
    return data(tf).range(9).take_while(lambda i: i < 4)


@script("ReduceDataset")
def reduces(tf):
    ds = data(tf).range(10)
    total = ds.reduce(tf.constant(0, tf.int64), lambda s, i: s + i)
    both = ds.map(lambda i: tf.cast(i, tf.float32)).reduce((0.0, 1), lambda s, i: (s[0] + i * tf.cast(s[1], tf.float32), s[1] + 1))
    none = data(tf).range(0).reduce((7.0, b"x"), lambda s, i: s)
    return [([total], {}, []), (list(both), {}, []), (list(none), {}, []), ([total] + list(both), {}, [])]


@script("ReduceDataset", label="an error")
def reduce_fails(tf):
    total = data(tf).range(5).reduce(0.0, lambda s, i: s + tf.debugging.check_numerics(1.0 / tf.cast(i - 2, tf.float32), "no number"))
    return [([total], {}, [], END)] * 2


@script("DatasetToSingleElement")
def single(tf):
    def get(n):
        return data(tf).range(n).map(lambda i: (i, tf.as_string(i))).get_single_element()
    return [(list(get(1)), {}, []), (list(get(0)), {}, [], END), (list(get(2)), {}, [], END)]


# ---- iterators

@script("MakeIterator")
def reinitializable(tf):
    iterator = tf.data.Iterator.from_structure(tf.int64, [])
    first, second = iterator.make_initializer(data(tf).range(3)), iterator.make_initializer(data(tf).range(10, 20).map(lambda i: -i))
    element = iterator.get_next()
    get = ([element], {}, [])
    return [([element], {}, [], END), ([], {}, [first]), get, get, ([], {}, [second]), get, get, get, ([], {}, [first]), get, get, get,
            ([element], {}, [], END), ([], {}, [second]), get]


@script("MakeIterator", label="fed")
def fed(tf):
    x, n = tf.placeholder(tf.float32, [None, 2], "x"), tf.placeholder(tf.int64, [], "n")
    iterator = tf.data.make_initializable_iterator(data(tf).from_tensor_slices(x).map(lambda r: r + tf.cast(n, tf.float32)).batch(n))
    element = iterator.get_next()
    steps = []
    for rows, size in [(3, 2), (5, 5), (0, 1), (4, 3)]:
        steps += [([], {x: values(f32, (rows, 2)), n: np.array(size, i64)}, [iterator.initializer])]
        steps += [([element], {}, [])] * -(-rows // size) + [([element], {}, [], END)]
    return steps + [([], {x: values(f32, (3, 2)), n: np.array(0, i64)}, [iterator.initializer], END)]


@script("IteratorGetNextAsOptional")
def optionals(tf):
    iterator = tf.data.make_initializable_iterator(data(tf).range(2).map(lambda i: (i, tf.as_string(i))))
    optional = tf.data.experimental.get_next_as_optional(iterator)
    has = optional.has_value()
    value = list(optional.get_value())
    return [([], {}, [iterator.initializer]), ([has] + value, {}, []), ([has], {}, []), ([has], {}, []), (value, {}, [], END)]


@script("OptionalFromValue")
def optional_values(tf):
    some = tf.experimental.Optional.from_value((tf.constant([1.5, 2]), tf.constant("a")))
    none = tf.experimental.Optional.empty((tf.TensorSpec([2], tf.float32), tf.TensorSpec([], tf.string)))
    return [([some.has_value(), none.has_value()] + list(some.get_value()), {}, []), (list(none.get_value()), {}, [], END)]


@script("IteratorToStringHandle")
def handles(tf):
    one = tf.data.make_one_shot_iterator(data(tf).range(5))
    name = tf.placeholder(tf.string, [], "name")
    fed_by_name = tf.data.Iterator.from_string_handle(one.string_handle(), tf.int64, [])
    element, other = one.get_next(), fed_by_name.get_next()
    return [([element], {}, []), ([other], {}, []), ([element], {}, []), ([other], {}, []), ([other], {}, []), ([other], {}, [], END),
            ([tf.data.Iterator.from_string_handle(name, tf.int64, []).get_next()], {name: np.array(b"nothing", object)}, [], END),
            ([tf.data.Iterator.from_string_handle(one.string_handle(), tf.float32, []).get_next()], {}, [], END)]


@script("AnonymousIteratorV3")
def anonymous(tf):
    raw = tf.raw_ops
    handle = raw.AnonymousIteratorV3(output_types=[tf.int64], output_shapes=[[]])
    with tf.control_dependencies([raw.MakeIterator(dataset=data(tf).range(3, 9)._variant_tensor, iterator=handle)]):
        first = raw.IteratorGetNext(iterator=handle, output_types=[tf.int64], output_shapes=[[]])
    with tf.control_dependencies(first):
        second = raw.IteratorGetNextSync(iterator=handle, output_types=[tf.int64], output_shapes=[[]])
    return [([first[0], second[0]], {}, [])] * 2


@script("DatasetCardinality")
def cardinalities(tf):
    def size(ds):
        return tf.data.experimental.cardinality(ds)
    r = data(tf).range(10)
    return [([size(r), size(r.batch(3)), size(r.batch(3, True)), size(r.map(lambda i: i)), size(r.filter(lambda i: i > 3)),
              size(r.flat_map(lambda i: data(tf).range(i))), size(data(tf).from_tensors(1))], {}, [])]


# ---- choosing and joining

for count in (0, 3, 20, -1):
    @pipeline("TakeDataset", min(count, 7) if count >= 0 else 7, label=str(count))
    def takes(tf, count=count):
        return data(tf).range(7).take(count)

    @pipeline("SkipDataset", max(0, 7 - count) if count >= 0 else 0, label=str(count))
    def skips(tf, count=count):
        return data(tf).range(7).skip(count)

for count in (0, 1, 3):
    @pipeline("RepeatDataset", 3 * count, label=str(count))
    def repeats(tf, count=count):
        return data(tf).range(3).map(lambda i: i * i).repeat(count)


@pipeline("RepeatDataset", 10, label="for ever")
def repeats_for_ever(tf):
    return data(tf).range(3).repeat().take(10)


@pipeline("RepeatDataset", 0, label="an empty one for ever")
def repeats_nothing(tf):
    return data(tf).range(0).repeat()


for shards, index in [(1, 0), (3, 0), (3, 2), (9, 4), (9, 8)]:
    @pipeline("ShardDataset", len(range(index, 8, shards)), label="%d of %d" % (index, shards))
    def shards_of(tf, shards=shards, index=index):
        return data(tf).range(8).shard(shards, index)


@pipeline("ConcatenateDataset", 7)
def concatenates(tf):
    return data(tf).range(3).concatenate(data(tf).range(10, 12)).concatenate(data(tf).range(2))


@pipeline("ZipDataset", 3)
def zips(tf):
    a = data(tf).range(3)
    return data(tf).zip((a, (data(tf).range(10, 20).map(tf.as_string), a.map(lambda i: {"x": i, "y": -i}))))


@script("ZipDataset", label="an error on one side")
def zip_fails(tf):
    bad = data(tf).range(5).map(lambda i: tf.debugging.check_numerics(1.0 / tf.cast(i - 2, tf.float32), "no number"))
    element = tf.data.make_one_shot_iterator(data(tf).zip((data(tf).range(5), bad, data(tf).range(10, 15)))).get_next()
    return [(list(element), {}, [])] * 2 + [(list(element), {}, [], END)] + [(list(element), {}, [])] * 2 + [(list(element), {}, [], END)]


@script("AssertCardinalityDataset")
def asserts(tf):
    def get(n):
        return tf.data.make_one_shot_iterator(data(tf).range(3).apply(tf.data.experimental.assert_cardinality(n))).get_next()
    few, right, many = get(2), get(3), get(4)
    return ([([few], {}, [])] * 2 + [([few], {}, [], END)] + [([right], {}, [])] * 3 + [([right], {}, [], END)] +
            [([many], {}, [])] * 3 + [([many], {}, [], END)])


@pipeline("IgnoreErrorsDataset", 4)
def ignores(tf):
    bad = data(tf).range(5).map(lambda i: tf.debugging.check_numerics(1.0 / tf.cast(i - 2, tf.float32), "no number"))
    return bad.apply(tf.data.experimental.ignore_errors())


@pipeline("OptionsDataset", 5)
def options(tf):
    given = tf.data.Options()
    given.deterministic = True
    given.threading.private_threadpool_size = 2
    given.threading.max_intra_op_parallelism = 1
    return data(tf).range(5).map(lambda j: j + 1).with_options(given)


@script("DatasetCardinality", label="of what was chosen and joined")
def more_cardinalities(tf):
    r = data(tf).range(10)
    sets = [r.take(3), r.take(30), r.take(-1), r.skip(3), r.skip(-1), r.repeat(3), r.repeat(), r.repeat(0), r.shard(3, 0), r.shard(3, 1),
            r.concatenate(r), r.concatenate(r.repeat()), data(tf).zip((r, r.repeat(), r.take(4))), r.filter(lambda i: i > 3).take(3), r.filter(lambda i: i > 3).repeat(),
            r.repeat().map(lambda i: i), r.repeat().flat_map(lambda i: r), r.repeat().filter(lambda i: i > 3), r.batch(3).unbatch(), r.repeat().batch(3)]
    return [([tf.data.experimental.cardinality(ds) for ds in sets], {}, [])]


# ---- ahead and at once

for size in (0, 1, 3, 100, -1):
    @pipeline("PrefetchDataset", 7, label=str(size))
    def prefetches(tf, size=size):
        return data(tf).range(7).map(lambda i: i * i).prefetch(size)


@script("PrefetchDataset", label="an error in the middle")
def prefetch_fails(tf):
    ds = data(tf).range(5).map(lambda i: tf.debugging.check_numerics(1.0 / tf.cast(i - 2, tf.float32), "no number")).prefetch(2)
    element = tf.data.make_one_shot_iterator(ds).get_next()
    return [([element], {}, [])] * 2 + [([element], {}, [], END)] + [([element], {}, [])] * 2 + [([element], {}, [], END)] * 2


for calls in (1, 2, 7, -1):
    @pipeline("ParallelMapDatasetV2", 20, label=str(calls))
    def parallel_maps(tf, calls=calls):
        captured = tf.constant([[1.0, 2], [3, 4]])
        return data(tf).range(20).map(lambda i: (i, tf.matmul(captured, captured) + tf.cast(i, tf.float32), tf.as_string(i)), num_parallel_calls=calls)


@script("ParallelMapDatasetV2", label="an error in the middle")
def parallel_map_fails(tf):
    ds = data(tf).range(5).map(lambda i: tf.debugging.check_numerics(1.0 / tf.cast(i - 2, tf.float32), "no number"), num_parallel_calls=3)
    element = tf.data.make_one_shot_iterator(ds).get_next()
    return [([element], {}, [])] * 2 + [([element], {}, [], END)] + [([element], {}, [])] * 2 + [([element], {}, [], END)] * 2


@pipeline("ParallelMapDatasetV2", 15, label="through everything")
def whole_pipeline(tf):
    ds = data(tf).range(50).shuffle(20, seed=4).map(lambda i: (i, tf.fill([3], tf.cast(i, tf.float32))), num_parallel_calls=4)
    return ds.filter(lambda i, x: i % 2 < 1).repeat(2).batch(4, drop_remainder=True).map(lambda i, x: {"i": i, "x": x * 2}, num_parallel_calls=2).prefetch(2).take(15)


for cycle, block in [(1, 1), (2, 1), (2, 3), (3, 2), (10, 1), (4, 100)]:
    for calls in (None, 1, 2, 4, -1):
        @pipeline("InterleaveDataset" if calls is None else "ParallelInterleaveDatasetV4", 18, label="%d %d %s" % (cycle, block, calls))
        def interleaves(tf, cycle=cycle, block=block, calls=calls):
            ds = data(tf).from_tensor_slices(np.array([3, 0, 5, 1, 2, 7], np.int64))
            return ds.interleave(lambda n: data(tf).range(n).map(lambda i: i + 100 * n), cycle, block, num_parallel_calls=calls)


@pipeline("ParallelInterleaveDataset", 18)
def interleaves_first(tf):
    ds = data(tf).from_tensor_slices(np.array([3, 0, 5, 1, 2, 7], np.int64))
    return ds.apply(tf.data.experimental.parallel_interleave(lambda n: data(tf).range(n).map(lambda i: i + 100 * n), cycle_length=2, block_length=2))


# ---- order by chance

for size in (1, 3, 10, 30):
    for seed in (1, 42):
        @pipeline("ShuffleDataset", 20, label="%d seed %d" % (size, seed))
        def shuffles(tf, size=size, seed=seed):
            return data(tf).range(20).shuffle(size, seed=seed)

        @pipeline("ShuffleDataset", 60, label="%d seed %d, repeated" % (size, seed))
        def shuffles_repeated(tf, size=size, seed=seed):
            return data(tf).range(20).shuffle(size, seed=seed).repeat(3)

        @pipeline("ShuffleDataset", 60, label="%d seed %d, repeated the same" % (size, seed))
        def shuffles_same(tf, size=size, seed=seed):
            return data(tf).range(20).shuffle(size, seed=seed, reshuffle_each_iteration=False).repeat(3)

        @pipeline("ShuffleAndRepeatDataset", 60, label="%d seed %d" % (size, seed))
        def shuffles_and_repeats(tf, size=size, seed=seed):
            return data(tf).range(20).apply(tf.data.experimental.shuffle_and_repeat(size, 3, seed=seed))


@pipeline("ShuffleDatasetV3", 40)
def shuffles_third(tf):
    raw = tf.raw_ops
    ds = data(tf).range(20)
    variant = raw.ShuffleDatasetV3(input_dataset=ds._variant_tensor, buffer_size=7, seed=3, seed2=9, seed_generator=raw.DummySeedGenerator(),
                                   output_types=[tf.int64], output_shapes=[[]])
    from tensorflow.python.data.ops import dataset_ops
    return dataset_ops.DatasetV1Adapter(dataset_ops._VariantDataset(variant, ds.element_spec)).repeat(2)


# ---- windows

for size, shift, stride, drop in [(3, None, 1, False), (3, None, 1, True), (2, 1, 1, True), (2, 3, 1, False), (3, 1, 2, True), (3, 2, 2, False), (20, 1, 1, False), (2, 9, 1, False)]:
    @pipeline("WindowDataset", {True: None, False: None}[drop] or len(range(0, 7, shift or size)) if not drop else max(0, (7 - (size - 1) * stride - 1) // (shift or size) + 1),
              label="%s %s %s %s" % (size, shift, stride, drop))
    def windows(tf, size=size, shift=shift, stride=stride, drop=drop):
        ds = data(tf).range(7).map(lambda i: (i, tf.as_string(i))).window(size, shift, stride, drop)
        return ds.flat_map(lambda a, b: data(tf).zip((a.batch(99), b.batch(99))))


@pipeline("GroupByWindowDataset", 7)
def groups(tf):
    return data(tf).range(23).apply(tf.data.experimental.group_by_window(
        key_func=lambda i: i % 3, reduce_func=lambda key, w: w.batch(4).map(lambda b: (key, b)), window_size_func=lambda key: key + 3))


@pipeline("GroupByWindowDataset", 6, label="buckets")
def buckets(tf):
    ds = data(tf).from_tensor_slices(np.array([1, 7, 3, 3, 2, 9, 8, 4, 4, 1], np.int64)).map(lambda n: tf.range(n))
    return ds.apply(tf.data.experimental.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 6], [2, 3, 2]))


# ---- kept

for count in (1, 3):
    @pipeline("CacheDataset", 5 * count, label="%d times" % count)
    def caches(tf, count=count):
        return data(tf).range(5).map(lambda i: (i, tf.as_string(i * i))).cache().repeat(count)


@pipeline("CacheDataset", 10, label="behind a shuffle, which is kept")
def caches_shuffled(tf):
    return data(tf).range(5).shuffle(5, seed=3).cache().repeat(2)


@pipeline("CacheDataset", 6, label="not read to its end")
def caches_part(tf):
    return data(tf).range(5).cache().take(3).repeat(2)


def folder(name):
    """Of this case, wherever it runs; what an earlier run left is gone."""
    return os.path.join(tempfile.gettempdir(), "parity-data-%d" % os.getuid(), name)


@script("CacheDataset", label="in a file")
def caches_in_file(tf):
    name = tf.placeholder(tf.string, [], "name")
    ds = data(tf).range(5).map(lambda i: (i, tf.fill([i], tf.as_string(i)), tf.cast(i, tf.float32))).cache(name)
    iterator = tf.data.make_initializable_iterator(ds)
    element = list(iterator.get_next())
    feed = {name: np.array((folder("")[:-1] + "-cache-%d" % os.getpid()).encode(), object)}
    return [([], feed, [iterator.initializer])] + [(element, {}, [])] * 5 + [(element, {}, [], END)] + (
        [([], feed, [iterator.initializer])] + [(element, {}, [])] * 5 + [(element, {}, [], END)])


# ---- files

def written(tf, name, contents):
    """A file that the graph writes in its first step."""
    path = folder(name)
    return path, tf.io.write_file(path, contents)


def record(bytes_):
    import struct

    def crc(b):
        table = record.table = getattr(record, "table", None) or [functools.reduce(lambda c, _: (c >> 1) ^ (0x82f63b78 if c & 1 else 0), range(8), i) for i in range(256)]
        c = 0xffffffff
        for x in b:
            c = table[(c ^ x) & 255] ^ (c >> 8)
        c ^= 0xffffffff
        return (((c >> 15) | (c << 17)) + 0xa282ead8) & 0xffffffff
    head = struct.pack("<Q", len(bytes_))
    return head + struct.pack("<I", crc(head)) + bytes_ + struct.pack("<I", crc(bytes_))


RECORDS = [b"", b"one", b"two" * 100, bytes(range(256))]


def packed(contents, coding):
    if coding == "GZIP":
        return gzip.compress(contents, mtime=0)
    return zlib.compress(contents) if coding == "ZLIB" else contents


def over_files(tf, make, contents, n, coding="", fails=0):
    """Steps: write the files, then n elements and the end, or errors among them where `fails` says so."""
    paths, writes = zip(*[written(tf, "%s-%d%s" % (make.__name__, i, coding), packed(c, coding)) for i, c in enumerate(contents)])
    iterator = tf.data.make_initializable_iterator(make(list(paths)))
    element = iterator.get_next()
    return [([], {}, list(writes)), ([], {}, [iterator.initializer])] + [([element], {}, [])] * n + [([element], {}, [], END)] * max(1, fails)


for coding in ("", "GZIP", "ZLIB"):
    @script("TFRecordDataset", label=coding or "plain")
    def records(tf, coding=coding):
        def tf_records(paths):
            return tf.data.TFRecordDataset(paths, coding)
        return over_files(tf, tf_records, [b"".join(map(record, RECORDS)), b"", record(b"last")], 5, coding)

    @script("TextLineDataset", label=coding or "plain")
    def lines(tf, coding=coding):
        def text_lines(paths):
            return tf.data.TextLineDataset(paths, coding)
        return over_files(tf, text_lines, [b"a\nbc\r\n\nd", b"", b"e\n", b"\n"], 6, coding)

    @script("FixedLengthRecordDatasetV2", label=coding or "plain")
    def pieces(tf, coding=coding):
        def fixed_pieces(paths):
            return tf.data.FixedLengthRecordDataset(paths, 3, 2, 1, compression_type=coding)
        return over_files(tf, fixed_pieces, [b"hhabcdeff", b"hh123f"[:6], b"hhabcdefghif"[:12]], 6, coding)


@script("TFRecordDataset", label="damaged")
def records_damaged(tf):
    bad = bytearray(b"".join(map(record, RECORDS)))
    bad[-20] ^= 1

    def bad_records(paths):
        return tf.data.TFRecordDataset(paths)
    return over_files(tf, bad_records, [bytes(bad)], 3)


@script("TFRecordDataset", label="cut short")
def records_short(tf):
    def short_records(paths):
        return tf.data.TFRecordDataset(paths)
    return over_files(tf, short_records, [b"".join(map(record, RECORDS))[:-30]], 3)


@script("FixedLengthRecordDatasetV2", label="no whole number of pieces")
def pieces_short(tf):
    def short_pieces(paths):
        return tf.data.FixedLengthRecordDataset(paths, 4)
    return over_files(tf, short_pieces, [b"abcdef"], 0)


@script("TextLineDataset", label="no such file")
def lines_nowhere(tf):
    element = tf.data.make_one_shot_iterator(tf.data.TextLineDataset("/nowhere/at/all")).get_next()
    return [([element], {}, [], END)]


@pipeline("TFRecordDataset", 0, label="no files")
def no_files(tf):
    return tf.data.TFRecordDataset(tf.zeros([0], tf.string))


# ---- out of nothing

@pipeline("RandomDataset", 20)
def random_numbers(tf):
    return tf.data.experimental.RandomDataset(seed=4).take(10).repeat(2)


for size, drop in [(1, False), (3, False), (3, True), (20, False)]:
    @pipeline("MapAndBatchDataset", 8 // size if drop else -(-8 // size), label="%d %s" % (size, drop))
    def maps_and_batches(tf, size=size, drop=drop):
        return data(tf).range(8).apply(tf.data.experimental.map_and_batch(lambda i: (i * i, tf.as_string(i)), size, drop_remainder=drop))


@script("MapAndBatchDataset", label="an error in the middle")
def map_and_batch_fails(tf):
    ds = data(tf).range(8).apply(tf.data.experimental.map_and_batch(
        lambda i: tf.debugging.check_numerics(1.0 / tf.cast(i - 3, tf.float32), "no number"), 3, num_parallel_calls=1))
    element = tf.data.make_one_shot_iterator(ds).get_next()
    return [([element], {}, []), ([element], {}, [], END), ([element], {}, []), ([element], {}, [], END)]


# ---- one call for many steps

@script("BatchFunction")
def batch_function(tf):
    x, y = tf.placeholder(tf.float32, [None, 2], "x"), tf.placeholder(tf.string, [None], "y")
    captured = tf.constant([10.0, 20])

    @tf.nondifferentiable_batch_function(2, 4, 1000, allowed_batch_sizes=[2, 4])
    def both(a, b):
        return a * 2 + captured, tf.strings.join([b, b])
    out = list(both(x, y))

    def feed(n):
        return {x: values(f32, (n, 2)), y: values(string, (n,))}
    return [(out, feed(1), []), (out, feed(3), []), (out, feed(4), []), (out, feed(5), [], END), (out, {x: values(f32, (2, 2)), y: values(string, (3,))}, [], END)]
