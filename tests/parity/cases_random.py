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
