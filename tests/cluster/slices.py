# slices — slices, strided assignments, gathers and scatters over ranks
from client import TARGET, np, show, tf

x = tf.placeholder(tf.float32)
n = tf.placeholder(tf.int32, [])
data = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
with tf.Session(TARGET) as session:
    y = tf.reshape(x, [2, 3, 4])
    for edge in (y[:, ::-1], y[..., n], y[0, 1:n], y[:, tf.newaxis, n - 1, ::2], tf.gather_nd(y, [[0, n], [1, 0]]),
                 tf.scatter_nd([[n], [0]], [[1.0, 2.0], [3.0, 4.0]], [4, 2]), tf.dynamic_stitch([[0, 2], [1]], [[1.0, 3.0], [2.0]]),
                 tf.boolean_mask(y, tf.reduce_sum(y, 2) > 30), tf.reverse_sequence(y, [n, 1], 1), tf.pad(y[0], [[n, 0], [0, 1]]),
                 tf.tile(y[:, 0], [1, n]), tf.transpose(y, [2, 0, 1]), tf.where(y[0] > 5), tf.unique(tf.range(n) // 2)[0],
                 tf.nn.top_k(y, n)[0], tf.cumsum(y, 1, reverse=True), tf.segment_sum(y[0], [0, 0, 1]), tf.roll(y, n, 1)):
        show(edge.op.type, session.run(edge, {x: data, n: 2}))
