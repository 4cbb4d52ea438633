# tables — models of rows, points and graphs: recommenders, crosses of columns, sums over neighbours.
import numpy as np
import tensorflow as tf
from zoo import below, model, normal, uniform

K = tf.keras
L = tf.keras.layers


def words_of(rows, names, column=0):
    return np.array([[("%s%d" % (names, (7 * i + 3 * column) % 11)).encode()] for i in range(rows)], object)


@model("saved")
def wide_and_deep(tiny):
    """Strings looked up, numbers cut into buckets, both crossed by hashing: a wide part of flags, a deep one of embeddings."""
    rows, width, flags = (4, 8, 32) if tiny else (256, 64, 1000)
    city, job, age = K.Input((1,), dtype="string"), K.Input((1,), dtype="string"), K.Input((1,))
    known = [L.StringLookup(vocabulary=["%s%d" % (n, i) for i in range(9)])(x) for n, x in (("c", city), ("j", job))]
    bucket = L.Discretization([18.0, 25.0, 35.0, 50.0, 65.0])(age)
    cross = L.HashedCrossing(flags)((city, job))
    wide = L.Concatenate()([L.CategoryEncoding(11, "multi_hot")(known[0]), L.CategoryEncoding(6, "one_hot")(bucket),
                            L.CategoryEncoding(flags, "multi_hot")(cross)])
    deep = L.Concatenate()([L.Flatten()(L.Embedding(11, width)(x)) for x in known] +
                           [L.Normalization(mean=40.0, variance=150.0)(age)])
    deep = L.Dense(width, "relu")(L.Dense(2 * width, "relu")(deep))
    net = K.Model([city, job, age], L.Activation("sigmoid")(L.Dense(1)(wide) + L.Dense(1)(deep)))
    return net, {"city": words_of(rows, "c"), "job": words_of(rows, "j", 2), "age": 20 + 50 * uniform(rows, 1)}


@model("saved")
def string_lookup(tiny):
    """Sentences as they come: lower case, split, looked up, averaged."""
    words, width = (30, 8) if tiny else (2000, 64)
    split = L.TextVectorization(output_sequence_length=12, vocabulary=["w%d" % i for i in range(words)])
    x = K.Input((1,), dtype="string")
    y = L.GlobalAveragePooling1D()(L.Embedding(words + 2, width)(split(x)))
    rows = [" ".join("W%d," % (i * j % (words + 5)) for j in range(1 + i % 14)) for i in range(4 if tiny else 64)]
    return K.Model(x, L.Dense(4, "softmax")(L.Dense(width, "relu")(y))), {"x": np.array([[r.encode()] for r in rows], object)}


@model()
def wide_linear(tiny):
    rows, columns, n = (4, 3, 20) if tiny else (512, 12, 5000)
    x, numbers = K.Input((columns,), rows, dtype="int32"), K.Input((8,), rows)
    table = normal(n * columns, 1)
    wide = L.Lambda(lambda t: tf.reduce_sum(tf.gather(table, t + tf.range(columns) * n), [1, 2])[:, tf.newaxis],
                    output_shape=(1,))(x)
    deep = L.Flatten()(L.Embedding(n, 16)(x))
    deep = L.Dense(64, "relu")(L.Dense(128, "relu")(L.Concatenate()([deep, numbers])))
    return K.Model([x, numbers], L.Activation("sigmoid")(wide + L.Dense(1)(deep))), {"x": below(n, rows, columns), "numbers": normal(rows, 8)}


@model()
def dlrm(tiny):
    rows, columns, n, width = (4, 3, 20, 8) if tiny else (128, 26, 4000, 32)
    x, numbers = K.Input((columns,), rows, dtype="int32"), K.Input((13,), rows)
    bottom = L.Dense(width, "relu")(L.Dense(64, "relu")(numbers))
    parts = [bottom] + [L.Embedding(n, width)(x[:, i]) for i in range(columns)]
    stack = L.Lambda(lambda t: tf.stack(t, 1))(parts)
    upper = np.flatnonzero(np.triu(np.ones((columns + 1,) * 2), 1)).astype(np.int32)
    dots = L.Lambda(lambda t: tf.gather(tf.reshape(tf.matmul(t, t, transpose_b=True), [rows, -1]), upper, axis=1))(stack)
    y = L.Dense(64, "relu")(L.Dense(128, "relu")(L.Concatenate()([bottom, dots])))
    return K.Model([x, numbers], L.Dense(1, "sigmoid")(y)), {"x": below(n, rows, columns), "numbers": normal(rows, 13)}


@model()
def tabular(tiny):
    rows = 4 if tiny else 512
    numbers, kinds = K.Input((10,), rows), K.Input((2,), rows, dtype="int64")
    cuts = [float(c) for c in np.linspace(-1.5, 1.5, 12)]
    parts = [L.Normalization(mean=[0.1] * 10, variance=[1.5] * 10)(numbers)]
    parts += [L.CategoryEncoding(13, "one_hot")(L.Discretization(cuts)(numbers[:, i:i + 1])) for i in range(4)]
    parts.append(L.Lambda(lambda t: tf.one_hot(tf.math.floormod(t[:, 0] * 17 + t[:, 1], 40), 40), output_shape=(40,))(kinds))
    y = L.Concatenate()(parts)
    for _ in range(3):
        y = L.BatchNormalization()(L.Dense(96, "selu")(y))
    return K.Model([numbers, kinds], L.Dense(3, "softmax")(y)), {"numbers": normal(rows, 10), "kinds": below(99, rows, 2, kind=np.int64)}


@model()
def recommender(tiny):
    users, items, width, rows = (20, 30, 8, 2) if tiny else (5000, 20000, 32, 16)
    user, seen = K.Input((), rows, dtype="int32"), K.Input((20,), rows, dtype="int32")
    table = normal(items, width) * 0.1
    history = L.Lambda(lambda t: tf.reduce_sum(tf.gather(table, t) * tf.cast(t > 0, tf.float32)[..., tf.newaxis], 1) /
                       tf.maximum(1.0, tf.reduce_sum(tf.cast(t > 0, tf.float32), 1, keepdims=True)), output_shape=(width,))(seen)
    query = L.Dense(width)(L.Dense(64, "relu")(L.Concatenate()([L.Embedding(users, width)(user), history])))
    best = L.Lambda(lambda t: list(tf.math.top_k(tf.matmul(tf.math.l2_normalize(t, -1), table, transpose_b=True), 10)))(query)
    return K.Model([user, seen], best), {"user": below(users, rows), "seen": below(items, rows, 20)}


@model()
def factorization(tiny):
    """Sparse rows: embeddings summed by row."""
    rows, n, width, each = (4, 30, 8, 3) if tiny else (256, 10000, 32, 20)
    table, linear = tf.constant(normal(n, width) * 0.1), tf.constant(normal(n, 1) * 0.1)
    owner = np.repeat(np.arange(rows, dtype=np.int32), each)

    def score(ids, weights):
        v = tf.gather(table, ids) * weights[:, tf.newaxis]
        sums, squares = tf.math.segment_sum(v, owner), tf.math.segment_sum(v * v, owner)
        mean = tf.sparse.segment_mean(table, ids, owner)
        first = tf.math.unsorted_segment_sum(tf.gather(linear, ids)[:, 0] * weights, owner, rows)
        return tf.sigmoid(first + 0.5 * tf.reduce_sum(sums * sums - squares, -1)), mean
    return score, {"ids": below(n, rows * each), "weights": uniform(rows * each)}


@model()
def points(tiny):
    """A cloud of points: each sees its nearest neighbours."""
    n, near, width = (32, 4, 8) if tiny else (512, 16, 32)
    layers = [K.Sequential([K.Input((None, near, c)), L.Dense(w, use_bias=False), L.BatchNormalization(), L.LeakyReLU(0.2)])
              for c, w in ((6, width), (2 * width, 2 * width))]
    last = K.Sequential([K.Input((2 * width,)), L.Dense(64, "relu"), L.Dense(10)])

    def see(x):
        for layer in layers:
            square = tf.reduce_sum(x * x, -1, keepdims=True)
            apart = square - 2 * tf.matmul(x, x, transpose_b=True) + tf.transpose(square, [0, 2, 1])
            _, at = tf.math.top_k(-apart, near)
            others = tf.gather(x, at, batch_dims=1)
            own = tf.tile(tf.expand_dims(x, 2), [1, 1, near, 1])
            x = tf.reduce_max(layer(tf.concat([own, others - own], -1), training=False), 2)
        return last(tf.reduce_max(x, 1), training=False)
    return see, {"x": normal(1, n, 3)}


@model()
def graph_sums(tiny):
    nodes, edges, width = (12, 40, 8) if tiny else (2000, 10000, 48)
    maps = [tf.constant(normal(width if i else 16, width) * 0.2 + 0.01 * i) for i in range(3)]

    def spread(x, source, target):
        count = tf.math.unsorted_segment_sum(tf.ones_like(source, tf.float32), target, nodes)
        scale = tf.math.rsqrt(tf.maximum(count, 1.0))[:, tf.newaxis]
        for w in maps:
            x = tf.matmul(x * scale, w)
            x = tf.nn.relu((x + tf.math.unsorted_segment_sum(tf.gather(x, source), target, nodes)) * scale)
        return tf.math.segment_mean(x, tf.range(nodes) // 4), x
    return spread, {"x": normal(nodes, 16), "source": below(nodes, edges), "target": below(nodes, edges)[::-1].copy()}


@model()
def graph_attention(tiny):
    nodes, edges, heads, width = (12, 40, 2, 4) if tiny else (1000, 8000, 4, 16)
    w, a, b = normal(16, heads * width) * 0.3, normal(heads, width), normal(1, heads, width)[0]

    def attend(x, source, target):
        h = tf.reshape(tf.matmul(x, w), [-1, heads, width])
        score = tf.gather(tf.reduce_sum(h * a, -1), source) + tf.gather(tf.reduce_sum(h * b, -1), target)
        score = tf.nn.leaky_relu(score)
        score = tf.exp(score - tf.gather(tf.math.unsorted_segment_max(score, target, nodes), target))
        share = score / (tf.gather(tf.math.unsorted_segment_sum(score, target, nodes), target) + 1e-9)
        return tf.nn.elu(tf.math.unsorted_segment_sum(tf.gather(h, source) * share[..., tf.newaxis], target, nodes))
    return attend, {"x": normal(nodes, 16), "source": below(nodes, edges), "target": below(nodes, edges)[::-1].copy()}
