# loops — while loops, nested, with arrays and shape invariants
from client import TARGET, np, show, tf

n = tf.placeholder(tf.int32, [])
count = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i * i), [0, 0])
nested = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + tf.while_loop(
    lambda j, t: j < i, lambda j, t: (j + 1, t + j), [0, 0])[1]), [0, 0])
grows = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, tf.concat([v, [i]], 0)), [0, tf.zeros([0], tf.int32)],
                      shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])
array = tf.TensorArray(tf.float32, n, dynamic_size=True)
_, array = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, tf.to_float(i) * [1.0, 2.0])), [0, array])
stacked = array.stack()
mapped = tf.map_fn(lambda v: v * v, tf.to_float(tf.range(n)), parallel_iterations=3)
folded = tf.foldl(lambda a, v: a + v, tf.range(n))
scanned = tf.scan(lambda a, v: a * 2 + v, tf.range(n))
with tf.Session(TARGET) as session:
    for value in (1, 3, 20):
        for label, edge in (("count", count), ("nested", nested), ("grows", grows)):
            print(label, [np.asarray(v).tolist() for v in session.run(edge, {n: value})])
        for edge in (stacked, mapped, folded, scanned):
            show(edge.op.type, session.run(edge, {n: value}))
    print(session.run(count, {n: 0}))
