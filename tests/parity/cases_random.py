# cases_random — the random streams: the same seeds give the same numbers, step after step.
from cases import *

NAMES = {f32: "float32", f64: "float64", f16: "float16", bfloat16: "bfloat16", i32: "int32", i64: "int64"}


def stream(op, label, tol, make, steps=3):
    """A script that fetches one random tensor several times."""
    def build(tf):
        out = make(tf)
        return [([out], {}, [])] * steps
    script(op, label=label, tol=tol)(build)


for op, tol in [("RandomUniform", 0.0), ("RandomStandardNormal", 2e-6), ("TruncatedNormal", 2e-6)]:
    for dtype in present([f32, f64, f16, bfloat16]):
        for shape in [(), (1,), (3,), (4,), (5,), (2, 3), (0,), (1000,), (300, 70)] if dtype == f32 else [(3,), (300,)]:
            for seeds in [(87654321, 1234), (1, 0), (0, 7)] if dtype == f32 and shape in ((3,), (1000,)) else [(87654321, 1234)]:
                half = dtype in present([f16, bfloat16])
                stream(op, "%s%s seeds %s" % (dtype, list(shape), list(seeds)), (1e-2 if half else tol) if tol else 0.0,
                       lambda tf, o=op, d=dtype, s=shape, k=seeds: getattr(tf.raw_ops, o)(
                           shape=tf.constant(s, tf.int32, [len(s)]), dtype=NAMES[d], seed=k[0], seed2=k[1]))
for dtype in (i32, i64):
    for shape in [(), (3,), (100,), (2, 0)]:
        for low, high in [(0, 10), (-5, 6), (0, 1 << 30)]:
            stream("RandomUniformInt", "%s%s %d..%d" % (dtype, list(shape), low, high), 0.0,
                   lambda tf, d=dtype, s=shape, a=low, b=high: tf.raw_ops.RandomUniformInt(
                       shape=tf.constant(s, tf.int32, [len(s)]), minval=tf.constant(a, NAMES[d]), maxval=tf.constant(b, NAMES[d]), seed=5, seed2=9))
for dtype in present([f32, i32, i64, string, boolean, f64]):
    for shape in [(5,), (0,), (1,), (4, 3), (100,)]:
        stream("RandomShuffle", "%s%s" % ("string" if dtype == string else dtype, list(shape)), 0.0,
               lambda tf, d=dtype, s=shape: tf.raw_ops.RandomShuffle(value=tf.constant(values(d, s), shape=s), seed=3, seed2=4))
for dtype in present([f32, f64]):
    for n, k, samples in [(1, 3, 5), (4, 10, 20), (2, 1, 3), (1, 5, 0)]:
        for out in ("int64", "int32"):
            stream("Multinomial", "%s[%d,%d] %d samples %s" % (dtype, n, k, samples, out), 0.0,
                   lambda tf, d=dtype, n=n, k=k, c=samples, o=out: tf.raw_ops.Multinomial(
                       logits=tf.constant(values(d, (n, k))), num_samples=tf.constant(c), seed=11, seed2=12, output_dtype=getattr(tf, o)))
for dtype in present([f32, f64]):
    stream("RandomGamma", str(dtype), 1e-5, lambda tf, d=dtype: tf.raw_ops.RandomGamma(
        shape=tf.constant([7]), alpha=tf.constant(values(d, (3,), low=0.3, high=4)), seed=11, seed2=12))
    stream("RandomPoissonV2", str(dtype), 0.0, lambda tf, d=dtype: tf.raw_ops.RandomPoissonV2(
        shape=tf.constant([7]), rate=tf.constant(values(d, (3,), low=0.3, high=20)), seed=11, seed2=12))
    stream("ParameterizedTruncatedNormal", str(dtype), 1e-5, lambda tf, d=dtype: tf.raw_ops.ParameterizedTruncatedNormal(
        shape=tf.constant([20]), means=tf.constant(0.5, d), stdevs=tf.constant(2.0, d), minvals=tf.constant(-1.0, d), maxvals=tf.constant(1.0, d), seed=11, seed2=12))

SEED = np.array([123, 456], i64)
for op, tol in [("StatelessRandomUniform", 0.0), ("StatelessRandomNormal", 2e-6), ("StatelessTruncatedNormal", 2e-6)]:
    for shape in [(), (3,), (0,), (1000,)]:
        for dtype in ("float", "double"):
            case(op, np.array(shape, i32), SEED, attrs={"dtype": dtype}, tol=tol)
for dtype in (i32, i64):
    case("StatelessRandomUniformInt", ints(7), SEED, np.array(-3, dtype), np.array(9, dtype))
case("StatelessMultinomial", values(f32, (2, 5)), np.array(6, i32), SEED)


@script("RandomUniform", label="the stream goes on whichever fetches run it", tol=0.0)
def across_plans(tf):
    r = tf.raw_ops.RandomUniform(shape=[2], dtype=tf.float32, seed=5, seed2=6)
    twice = tf.raw_ops.Mul(x=r, y=tf.constant(2.0))
    return [([r], {}, []), ([twice], {}, []), ([r, twice], {}, []), ([r], {}, [])]


@script("RandomUniform", label="two operations with the same seeds run the same stream", tol=0.0)
def same_seeds(tf):
    a = tf.raw_ops.RandomUniform(shape=[4], dtype=tf.float32, seed=5, seed2=6)
    b = tf.raw_ops.RandomUniform(shape=[4], dtype=tf.float32, seed=5, seed2=6)
    return [([a], {}, []), ([a, b], {}, []), ([b], {}, [])]


@script("RandomUniform", label="no seeds: another stream each time")
def no_seeds(tf):
    r = tf.raw_ops.RandomUniform(shape=[3, 2], dtype=tf.float32)
    return [([r], {}, [], {"loose": True})]


@script("RandomUniform", label="fed shape", tol=0.0)
def fed_shape(tf):
    shape = tf.placeholder(tf.int32, None, "shape")
    r = tf.raw_ops.RandomUniform(shape=shape, dtype=tf.float32, seed=5, seed2=6)
    return [([r], {shape: np.array(s, i32)}, []) for s in ([3], [2, 2], [], [5])] + [([r], {shape: ints(-1)}, [], {"error": True})]


@script("RandomUniform", label="dropout with its gradient", tol=1e-5)
def dropout(tf):
    x = tf.placeholder(tf.float32, [4, 5], "x")
    y = tf.nn.dropout(x, rate=0.4, seed=3)
    g = tf.gradients(tf.reduce_sum(y * y), x)[0]
    return [([y, g], {x: values(f32, (4, 5))}, [])] * 3


SAMPLERS = {"UniformCandidateSampler": {}, "LogUniformCandidateSampler": {}, "LearnedUnigramCandidateSampler": {},
            "ThreadUnsafeUnigramCandidateSampler": {}, "AllCandidateSampler": None,
            "FixedUnigramCandidateSampler": {"unigrams": [float(1 + 7 * k % 11) for k in range(30)]}}


def sampler(op, label, n, unique, true_classes, error=False, **attrs):
    """Three draws of classes, with what is expected of them."""
    def build(tf):
        classes = tf.constant(true_classes, tf.int64)
        out = getattr(tf.raw_ops, op)(true_classes=classes, num_true=true_classes.shape[1], num_sampled=n, unique=unique,
                                      seed=5, seed2=7, **attrs)
        return [(list(out), {}, [], {"error": error})] * 3
    script(op, label=label, tol=3e-6)(build)


for op, more in SAMPLERS.items():
    for n, unique, shape in [(5, False, (2, 1)), (5, True, (2, 1)), (29, True, (3, 2)), (30, True, (1, 4)), (1, False, (0, 1)), (100, False, (4, 3))]:
        attrs = {} if more is None else dict(more, range_max=30)
        sampler(op, "%d of 30%s, %s" % (n, " different" if unique else "", list(shape)), n, unique, np.minimum(np.abs(values(i64, shape, low=0, high=29)), n - 1), **attrs)
    sampler(op, "a true class out of range", 5, True, np.array([[30]], i64), error=True, **({} if more is None else dict(more, range_max=30)))
    if more is not None:
        sampler(op, "more than there are", 31, True, np.zeros((1, 1), i64), error=True, **dict(more, range_max=30))
for top in (1, 2, 3, 1000, 1 << 20, (1 << 40) + 1):
    for op in ("UniformCandidateSampler", "LogUniformCandidateSampler"):
        sampler(op, "range %d" % top, 20, False, np.array([[0], [top // 2], [top - 1]], i64), range_max=top)
for name, attrs in {"distortion": dict(distortion=0.75), "reserved": dict(num_reserved_ids=3, range_max=33),
                    "shard 0 of 2": dict(num_shards=2, shard=0, range_max=15), "shard 1 of 2": dict(num_shards=2, shard=1, range_max=15),
                    "reserved in shard 1 of 3": dict(num_reserved_ids=5, num_shards=3, shard=1, range_max=11)}.items():
    sampler("FixedUnigramCandidateSampler", name, 9, True, np.array([[0], [2], [9]], i64),
            **dict(dict(range_max=30), **SAMPLERS["FixedUnigramCandidateSampler"], **attrs) if "range_max" not in attrs else
            dict(SAMPLERS["FixedUnigramCandidateSampler"], **attrs))
sampler("FixedUnigramCandidateSampler", "another number of weights", 9, True, np.array([[0]], i64), error=True, range_max=31,
        **SAMPLERS["FixedUnigramCandidateSampler"])
for shape, n in [((4, 1), 6), ((3, 3), 20), ((0, 2), 3), ((2, 2), 0)]:
    case("ComputeAccidentalHits", values(i64, shape, low=0, high=8), distinct(i64, (n,)) + n // 2, attrs={"num_true": shape[1]})
case("ComputeAccidentalHits", np.array([[1, 2]], i64), ints(1, 2, 2, -1, dtype=i64), attrs={"num_true": 2}, label="twice the same candidate")
case("ComputeAccidentalHits", np.array([[1, 2]], i64), ints(1, dtype=i64), attrs={"num_true": 1}, error=True)

KEY, COUNTER = np.array([9253899398316315749], u64), np.array([0, 9728725001470529864], u64)
for dtype, name in [(i32, "int32"), (i64, "int64"), (u32, "uint32"), (u64, "uint64")]:
    for shape in [(), (3,), (0,), (1000,)]:
        case("StatelessRandomUniformFullInt", np.array(shape, i32), SEED, attrs={"dtype": name}, tol=0.0)
        case("StatelessRandomUniformFullIntV2", np.array(shape, i32), KEY, COUNTER, np.array(1, i32), attrs={"dtype": name}, tol=0.0)
        for low, high in [(0, 10), (3, 4), (7, 1 << 30)] + [(-5, 6)] * (np.dtype(dtype).kind == "i") + [(1, (1 << 63) + 5)] * (dtype == u64):
            case("StatelessRandomUniformIntV2", np.array(shape, i32), KEY, COUNTER, np.array(1, i32), np.array(low, dtype), np.array(high, dtype), tol=0.0)
    case("StatelessRandomUniformIntV2", ints(3), KEY, COUNTER, np.array(1, i32), np.array(4, dtype), np.array(4, dtype), error=True)
for seed in (i32, i64):
    case("StatelessRandomUniformFullInt", ints(5), np.array([123, 4000000000 if seed == i64 else -7], seed), tol=0.0)


for alpha_kind in (f32, f64):
    case("RandomGammaGrad", np.array([0.1, 0.5, 1, 2, 9, 100], alpha_kind), np.array([0.02, 0.3, 1, 1.5, 12, 95], alpha_kind), tol=1e-4)


@script("RandomGamma", tol=1e-4)
def gamma_gradient(tf):
    alpha = tf.constant([[0.5, 1, 4], [2, 9, 30]], tf.float32)
    drawn = tf.raw_ops.RandomGamma(shape=tf.constant([5]), alpha=alpha, seed=3, seed2=4)
    return [([drawn, tf.gradients(drawn * drawn, alpha)[0]], {}, [])]


@script("StatefulUniform", label="a generator in a variable")
def generator_in_variable(tf):
    state = tf.raw_ops.VarHandleOp(dtype=tf.int64, shape=[3], shared_name="generator")
    init = tf.raw_ops.AssignVariableOp(resource=state, value=tf.constant([5, 1 << 40, -7], tf.int64))
    shape, one = tf.constant([3, 5], tf.int64), tf.constant(1, tf.int64)
    draws = [tf.raw_ops.StatefulUniform(resource=state, algorithm=one, shape=shape, dtype=kind) for kind in (tf.float32, tf.float64, tf.float16)]
    draws.append(tf.raw_ops.StatefulStandardNormalV2(resource=state, algorithm=one, shape=shape, dtype=tf.float32))
    draws.append(tf.raw_ops.StatefulTruncatedNormal(resource=state, algorithm=one, shape=shape, dtype=tf.float64))
    draws += [tf.raw_ops.StatefulUniformFullInt(resource=state, algorithm=one, shape=shape, dtype=kind) for kind in (tf.int32, tf.int64, tf.uint32, tf.uint64)]
    draws += [tf.raw_ops.StatefulUniformInt(resource=state, algorithm=one, shape=shape, minval=tf.constant(-3, kind), maxval=tf.constant(100, kind))
              for kind in (tf.int32, tf.int64)]
    skip = tf.raw_ops.RngSkip(resource=state, algorithm=one, delta=tf.constant(11, tf.int64))
    read = tf.raw_ops.RngReadAndSkip(resource=state, alg=tf.constant(1), delta=tf.constant(5, tf.uint64))
    value = tf.raw_ops.ReadVariableOp(resource=state, dtype=tf.int64)
    steps = [([], {}, [init])]
    for draw in draws:
        steps += [([draw], {}, []), ([value], {}, [])]
    return steps + [([], {}, [skip]), ([value], {}, []), ([read], {}, []), ([value], {}, [])]


@script("ParameterizedTruncatedNormal", label="shapes and bounds")
def truncated_normal_shapes(tf):
    x = tf.raw_ops.ParameterizedTruncatedNormal(shape=tf.constant([4, 500]), means=tf.constant([0.0, 3.0, -2.0, 9.0]), stdevs=tf.constant([1.0, 0.5, 2.0, 1.0]),
                                                minvals=tf.constant([-1.0, 5.0, -100.0, 0.0]), maxvals=tf.constant([2.0, 9.0, -1.0, 0.5]), seed=3, seed2=4)
    low, high = tf.reduce_min(x, 1) >= [-1.0, 5.0, -100.0, 0.0], tf.reduce_max(x, 1) <= [2.0, 9.0, -1.0, 0.5]
    mean = tf.round(tf.reduce_mean(x, 1) * 4)
    return [([low, high], {}, []), ([x], {}, [], {"loose": True}), ([mean], {}, [], {"loose": True})]
