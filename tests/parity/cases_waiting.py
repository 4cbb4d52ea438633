# cases_waiting — what is waited for beside queues: accumulators of gradients, barriers, mutexes, staging areas.
from cases import *

ERROR = {"error": True}


def dense(tf, dtype, shape, ref, reduction="MEAN"):
    """The accumulator and its four operations, by reference or by resource."""
    raw, prefix = tf.raw_ops, "" if ref else "Resource"
    handle = getattr(raw, prefix + "ConditionalAccumulator")(dtype=tf.as_dtype(dtype), shape=shape, shared_name="a", reduction_type=reduction)

    def op(name):
        return lambda **more: getattr(raw, prefix + "Accumulator" + name)(handle=handle, **more)
    return op("ApplyGradient"), op("TakeGradient"), op("NumAccumulated"), op("SetGlobalStep")


for dtype in (f32, f64, f16):
    for reduction in ("MEAN", "SUM"):
        for ref in (True, False):
            @script(("" if ref else "Resource") + "ConditionalAccumulator", label="%s %s" % (dtype, reduction))
            def accumulator(tf, dtype=dtype, reduction=reduction, ref=ref):
                apply, take, count, set_step = dense(tf, dtype, [2, 3], ref, reduction)
                x = tf.placeholder(tf.as_dtype(dtype), [2, 3], "x")
                step, n = tf.placeholder(tf.int64, [], "step"), tf.placeholder(tf.int32, [], "n")
                add, now, set_it = apply(local_step=step, gradient=x), count(), set_step(new_global_step=step)
                out = take(num_required=n, dtype=tf.as_dtype(dtype))

                def feed(i, at):
                    return {x: values(dtype, (2, 3), key=i), step: np.array(at, i64)}
                return [([now], {}, []), ([], feed(1, 0), [add]), ([], feed(2, 0), [add]), ([now], {}, []), ([out], {n: np.array(2, i32)}, []),
                        ([now], {}, []), ([], feed(3, 0), [add]), ([now], {}, []), ([], feed(3, 7), [add]), ([], {step: np.array(8, i64)}, [set_it]),
                        ([], feed(4, 7), [add]), ([], feed(5, 8), [add]), ([now], {}, []), ([out], {n: np.array(1, i32)}, []),
                        ([out], {n: np.array(0, i32)}, [], ERROR), ([out], {n: np.array(-1, i32)}, [], ERROR),
                        ([out], {**feed(6, 9), n: np.array(1, i32)}, [add]), ([now], {}, [])]


@script("AccumulatorApplyGradient", label="shapes that do and don't fit")
def accumulator_shapes(tf):
    apply, take, count, _ = dense(tf, f32, [2, None], True)
    x = tf.placeholder(tf.float32, None, "x")
    add, now, out = apply(local_step=tf.constant(0, tf.int64), gradient=x), count(), take(num_required=1, dtype=tf.float32)
    steps = []
    for shape, fits in [((2, 2), True), ((2, 3), False), ((2,), False), ((), False), ((1, 2), False), ((2, 2), True), ((2, 0), False)]:
        steps.append(([], {x: values(f32, shape)}, [add], {} if fits else ERROR))
    return steps + [([now], {}, []), ([out], {}, []), ([now], {}, [])]


@script("AccumulatorTakeGradient", label="empty gradients")
def accumulator_empty(tf):
    apply, take, _, _ = dense(tf, f32, [0, 3], False)
    return [([], {}, [apply(local_step=tf.constant(0, tf.int64), gradient=tf.zeros([0, 3]))]), ([take(num_required=1, dtype=tf.float32)], {}, [])]


def rows(dtype, indices, width=2, key=0):
    return np.array(indices, i64), values(dtype, (len(indices), width), key=key)


for dtype in (f32, f64, f16):
    for reduction in ("MEAN", "SUM"):
        @script("SparseConditionalAccumulator", label="%s %s" % (dtype, reduction))
        def sparse_accumulator(tf, dtype=dtype, reduction=reduction):
            kind = tf.as_dtype(dtype)
            a = tf.raw_ops.SparseConditionalAccumulator(dtype=kind, shape=[5, 2], shared_name="a", reduction_type=reduction)
            i, v = tf.placeholder(tf.int64, [None], "i"), tf.placeholder(kind, None, "v")
            s, step = tf.placeholder(tf.int64, [None], "s"), tf.placeholder(tf.int64, [], "step")
            add = tf.raw_ops.SparseAccumulatorApplyGradient(handle=a, local_step=step, gradient_indices=i, gradient_values=v, gradient_shape=s, has_known_shape=True)
            take = tf.raw_ops.SparseAccumulatorTakeGradient(handle=a, num_required=2, dtype=kind)
            now = tf.raw_ops.AccumulatorNumAccumulated(handle=a)

            def feed(indices, key=0, at=0, shape=(5, 2), width=2):
                one, two = rows(dtype, indices, width, key)
                return {i: one, v: two, s: np.array(shape, i64), step: np.array(at, i64)}
            return [([], feed([0, 2]), [add]), ([], feed([2, 3, 4], 1), [add]), ([], feed([0, 3], 2), [add]), ([now], {}, []), (list(take), {}, []), ([now], {}, []),
                    ([], feed([1], 3), [add]), ([now], {}, []), ([], feed([4], 4, 1), [add]), ([], feed([], 5, 1), [add]), (list(take), {}, []),
                    ([], feed([5], 1, 2), [add], ERROR), ([], feed([1], 1, 2, (6, 2)), [add], ERROR), ([], feed([1], 1, 2, (5, 3), 3), [add], ERROR),
                    ([], feed([1], 1, 2, (5,)), [add], ERROR), ([], feed([3, 1], 1, 2), [add]), ([], feed([1, 1, 3], 2, 2), [add]), (list(take), {}, [])]


@script("SparseAccumulatorApplyGradient", label="of unknown shape")
def sparse_free(tf):
    a = tf.raw_ops.SparseConditionalAccumulator(dtype=tf.float32, shape=tf.TensorShape(None), shared_name="a")
    i, v = tf.placeholder(tf.int64, [None], "i"), tf.placeholder(tf.float32, None, "v")
    add = tf.raw_ops.SparseAccumulatorApplyGradient(handle=a, local_step=tf.constant(0, tf.int64), gradient_indices=i, gradient_values=v,
                                                    gradient_shape=tf.zeros([0], tf.int64), has_known_shape=False)
    take = tf.raw_ops.SparseAccumulatorTakeGradient(handle=a, num_required=1, dtype=tf.float32)
    one, two = rows(f32, [3, 9])
    return [([], {i: one, v: two}, [add]), ([], {i: np.array([3], i64), v: values(f32, (1, 3))}, [add], ERROR), (list(take), {}, [])]


@script("Barrier")
def barrier(tf):
    raw, types = tf.raw_ops, [tf.float32, tf.string]
    b = raw.Barrier(component_types=types, shapes=[[2], []], shared_name="b")
    keys, pairs, words, n = (tf.placeholder(t, None, name) for t, name in ((tf.string, "k"), (tf.float32, "x"), (tf.string, "w"), (tf.int32, "n")))
    first = raw.BarrierInsertMany(handle=b, keys=keys, values=pairs, component_index=0)
    second = raw.BarrierInsertMany(handle=b, keys=keys, values=words, component_index=1)
    take = raw.BarrierTakeMany(handle=b, num_elements=n, component_types=types)
    some = raw.BarrierTakeMany(handle=b, num_elements=n, component_types=types, allow_small_batch=True)
    sizes = [raw.BarrierReadySize(handle=b), raw.BarrierIncompleteSize(handle=b)]
    close = [raw.BarrierClose(handle=b, cancel_pending_enqueues=cancel) for cancel in (False, True)]

    def one(*names):
        return {keys: np.array(names, object), pairs: values(f32, (len(names), 2), key=len(names[0]) if names else 0)}

    def two(*names):
        return {keys: np.array(names, object), words: np.array([name * 2 for name in names], object)}
    now, flat = (sizes, {}, []), lambda fetched, count: (tf.nest.flatten(list(fetched)), {n: np.array(count, i32)}, [])
    return [([], one(b"a", b"b"), [first]), now, ([], one(b"c"), [first]), ([], two(b"c", b"b"), [second]), now, ([], two(b"z"), [second]), ([], one(b"z"), [first]), now,
            flat(take, 3), now, ([], one(b"q", b"q"), [first], ERROR), ([], one(b"a"), [first], ERROR), now, flat(take, 0), ([], {keys: np.array([b"e"], object), pairs: np.zeros((1, 0), f32)}, [first], ERROR),
            ([], one(b"x", b"y"), [first]), ([], two(b"x", b"y", b"q"), [second]), now, ([], {}, [close[0]]), ([], {}, [close[0]], ERROR), ([], one(b"new"), [first], ERROR),
            ([], two(b"a"), [second]), now, flat(take, 2), (*flat(take, 30), ERROR), flat(some, 30), (*flat(some, 30), ERROR), now]


@script("Barrier", label="cancelled")
def barrier_cancelled(tf):
    raw = tf.raw_ops
    b = raw.Barrier(component_types=[tf.int32, tf.int32], shapes=[[], []], shared_name="b")
    keys = tf.constant(["a", "b"])
    first, second = (raw.BarrierInsertMany(handle=b, keys=keys, values=tf.constant([1, 2]), component_index=i) for i in (0, 1))
    take = raw.BarrierTakeMany(handle=b, num_elements=1, component_types=[tf.int32, tf.int32])
    sizes = [raw.BarrierReadySize(handle=b), raw.BarrierIncompleteSize(handle=b)]
    close = [raw.BarrierClose(handle=b, cancel_pending_enqueues=cancel) for cancel in (False, True)]
    return [([], {}, [first]), ([], {}, [close[0]]), ([], {}, [close[1]]), (sizes, {}, []), ([], {}, [second], ERROR), ([], {}, [close[1]], ERROR),
            ([], {}, [close[0]], ERROR), (tf.nest.flatten(list(take)), {}, [], ERROR)]


for label, attrs in [("no shapes", dict(shapes=[])), ("a capacity", dict(shapes=[[]], capacity=3)), ("an open extent", dict(shapes=[[None]]))]:
    @script("Barrier", label=label)
    def barrier_refused(tf, attrs=attrs):
        b = tf.raw_ops.Barrier(component_types=[tf.float32], **attrs)
        return [([tf.raw_ops.BarrierReadySize(handle=b)], {}, [], ERROR)]


@script("Barrier", label="an unknown shape is a scalar's")
def barrier_scalar(tf):
    b = tf.raw_ops.Barrier(component_types=[tf.float32], shapes=[tf.TensorShape(None)], shared_name="b")
    x = tf.placeholder(tf.float32, None, "x")
    put = tf.raw_ops.BarrierInsertMany(handle=b, keys=tf.constant(["a"]), values=x, component_index=0)
    take = tf.raw_ops.BarrierTakeMany(handle=b, num_elements=1, component_types=[tf.float32])
    return [([], {x: np.array([2.5], f32)}, [put]), (tf.nest.flatten(list(take)), {}, []), ([], {x: np.array([[2.5]], f32)}, [put], ERROR)]


def area(tf, prefix, **more):
    """The operations of one map staging area, by their names without the prefix."""
    def op(name):
        return lambda **given: getattr(tf.raw_ops, prefix + name)(**{**more, **given})
    return op


@script("Stage")
def stage(tf):
    op = area(tf, "", shared_name="s", capacity=3)
    x, kinds = tf.placeholder(tf.float32, [2], "x"), [tf.float32, tf.int32]
    put, n = op("Stage")(values=[x, tf.constant(3)]), tf.placeholder(tf.int32, [], "n")
    get, size, peek, clear = (op("Unstage")(dtypes=kinds), op("StageSize")(dtypes=kinds), op("StagePeek")(index=n, dtypes=kinds), op("StageClear")(dtypes=kinds))
    feeds = [{x: values(f32, (2,), key=i)} for i in range(3)]
    at = [{n: np.array(i, i32)} for i in range(3)]
    other = op("Unstage")(dtypes=[tf.float32])
    return [([size], {}, [])] + [([], feed, [put]) for feed in feeds] + [([size], {}, []), (list(peek), at[2], []), (list(get), {}, []), (list(peek), at[1], []),
            ([size], {}, []), (list(get), feeds[0], [put]), ([size], {}, []), ([], {}, [clear]), ([size], {}, []), ([], feeds[1], [put]), (list(other), {}, [], ERROR)]


@script("Stage", label="more than its memory")
def stage_memory(tf):
    put = tf.raw_ops.Stage(values=[tf.zeros([100])], memory_limit=100, shared_name="s")
    return [([], {}, [put], ERROR)]


for prefix in ("", "Ordered"):
    @script(prefix + "MapStage")
    def map_stage(tf, prefix=prefix):
        op = area(tf, prefix + "Map", shared_name="s", dtypes=[tf.float32, tf.int32])
        key = tf.placeholder(tf.int64, [], "key")
        x = tf.placeholder(tf.float32, None, "x")
        both = op("Stage")(key=key, indices=tf.constant([0, 1]), values=[x, tf.constant(7)])
        first, second = op("Stage")(key=key, indices=tf.constant([0]), values=[x]), op("Stage")(key=key, indices=tf.constant([1]), values=[tf.constant(8)])
        beyond, empty = op("Stage")(key=key, indices=tf.constant([2]), values=[x]), op("Stage")(key=key, indices=tf.zeros([0], tf.int32), values=[x])
        sizes = [op("Size")(), op("IncompleteSize")()]
        peek = op("Peek")(key=key, indices=tf.constant([0, 1]))
        one, other = op("Unstage")(key=key, indices=tf.constant([1]), dtypes=[tf.int32]), op("Unstage")(key=key, indices=tf.constant([0]), dtypes=[tf.float32])
        descending = op("Unstage")(key=key, indices=tf.constant([1, 0]), dtypes=[tf.int32, tf.float32])
        take, any_one, clear = op("Unstage")(key=key, indices=tf.constant([0, 1])), op("UnstageNoKey")(indices=tf.constant([0, 1])), op("Clear")()

        def at(k, i=0):
            return {key: np.array(k, i64), x: values(f32, (2,), key=i)}

        def only(k):
            return {key: np.array(k, i64)}
        now, flat = (sizes, {}, []), tf.nest.flatten
        return [now, ([], at(5), [both]), ([], only(3), [second]), now, ([], at(5, 1), [both]), ([], only(3), [second], ERROR), ([], at(8), [beyond], ERROR), ([], at(8), [empty], ERROR), now,
                ([], at(3, 2), [first]), now, (flat(list(peek)), only(5), []), (flat(list(descending)), only(5), [], ERROR), (flat(list(one)), only(5), []), (flat(list(one)), only(5), [], ERROR), now,
                (flat(list(other)), only(5), []), now, (flat(list(take)), only(3), []), ([], at(-4, 3), [both]), (flat(list(any_one)), {}, []), now, ([], at(1, 3), [both]), ([], at(2, 3), [first]),
                ([], {}, [clear]), now] + ([([], at(k, k), [both]) for k in (4, -2, 9)] + [(flat(list(any_one)), {}, [])] * 3 if prefix else [])


@script("MutexLock")
def mutex(tf):
    m = tf.raw_ops.MutexV2(shared_name="m")
    h = tf.raw_ops.VarHandleOp(dtype=tf.int32, shape=[], shared_name="v")
    init = tf.raw_ops.AssignVariableOp(resource=h, value=tf.constant(0))
    ends = []
    for i in range(4):
        lock = tf.raw_ops.MutexLock(mutex=m)
        with tf.control_dependencies([lock]):
            value = tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.int32)
        with tf.control_dependencies([tf.raw_ops.AssignVariableOp(resource=h, value=value + 1)]):
            ends.append(tf.raw_ops.ConsumeMutexLock(mutex_lock=lock))
    read = tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.int32)
    return [([], {}, [init])] + [([], {}, ends), ([read], {}, [])] * 3
