# feeds_numbers — feeds and fetches of every type, of ranks 0 to 6, and empty
from client import TARGET, np, show, tf

TYPES = [tf.float32, tf.float64, tf.int32, tf.uint8, tf.int16, tf.int8, tf.complex64, tf.int64, tf.bool, tf.uint16,
         tf.complex128, tf.half, tf.uint32, tf.uint64, tf.bfloat16]
SHAPES = [(), (3,), (2, 3), (1, 2, 3), (2, 1, 2, 1), (1, 2, 1, 2, 1), (2, 1, 1, 2, 1, 2), (0,), (3, 0), (0, 2, 3)]
edges, values = [], []
for dtype in TYPES:
    edges.append(tf.placeholder(dtype))
    values.append(tf.identity(edges[-1]))
with tf.Session(TARGET) as session:
    for shape in SHAPES:
        n = int(np.prod(shape))
        arrays = [(np.arange(n) % 7).reshape(shape).astype(dtype.as_numpy_dtype) for dtype in TYPES]
        for dtype, value in zip(TYPES, session.run(values, dict(zip(edges, arrays)))):
            show(dtype.name, value if dtype != tf.bfloat16 else np.asarray(value).astype(np.float32))
    x = tf.placeholder(tf.float32, [None])
    show("special", session.run(x * 1, {x: [np.inf, -np.inf, np.nan, 0.0, 3e38]}))
    c = tf.placeholder(tf.complex64, [2])
    show("complex", session.run(c * tf.conj(c) + 1j, {c: [1 + 2j, -3j]}).real)
