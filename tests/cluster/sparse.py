# sparse — sparse tensors fed, changed, made dense and fetched; slices of gradients; sums over segments
from client import TARGET, np, refused, show, tf

sp = tf.sparse_placeholder(tf.float32, shape=[3, 4])
feed = tf.SparseTensorValue([[0, 1], [1, 0], [2, 3]], np.array([1.0, 2.0, 3.0], np.float32), [3, 4])
empty = tf.SparseTensorValue(np.zeros((0, 2), np.int64), np.zeros(0, np.float32), [3, 4])
doubled = tf.SparseTensor(sp.indices, sp.values * 2.0, sp.dense_shape)
dense = tf.sparse.to_dense(sp, 7.0)
gradient, = tf.gradients(tf.reduce_sum(tf.gather(tf.Variable(tf.ones([4, 2]), name="table"), [3, 1, 3]) ** 2),
                         tf.global_variables())
with tf.Session(TARGET) as session:
    session.run(tf.global_variables_initializer())
    for value in (feed, empty):
        for part in session.run(doubled, {sp: value}):
            show("doubled", part)
        show("dense", session.run(dense, {sp: value}))
    refused(lambda: session.run(tf.sparse_to_dense([[9, 9]], [3, 4], [1.0], name="outside")), "outside")
    for part in session.run(gradient):
        show("gradient", part)
    show("added up", session.run(tf.convert_to_tensor(gradient)))
    rows, segments = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), [0, 0, 2]
    for reduce in (tf.sparse_segment_sum, tf.sparse_segment_mean, tf.sparse_segment_sqrt_n):
        show(reduce.__name__, session.run(reduce(rows, [2, 0, 1], segments)))
