# accumulators — conditional accumulators, dense and sparse
from client import TARGET, refused, show, tf

dense = tf.ConditionalAccumulator(tf.float32, [2])
sparse = tf.SparseConditionalAccumulator(tf.float32, [4, 2])
with tf.Session(TARGET) as session:
    for i in range(3):
        session.run(dense.apply_grad([1.0 * i, 2.0], local_step=0))
        session.run(sparse.apply_grad([i, 3], [[1.0, 1.0], [2.0, 2.0]], local_step=0))
    show("count", session.run([dense.num_accumulated(), sparse.num_accumulated()]))
    show("mean", session.run(dense.take_grad(2)))
    indices, values, shape = session.run(sparse.take_grad(3))
    show("indices", indices)
    show("values", values)
    session.run(dense.set_global_step(5))
    session.run(dense.apply_grad([9.0, 9.0], local_step=3))
    show("stale", session.run(dense.num_accumulated()))
    refused(lambda: session.run(dense.take_grad(1), options=tf.RunOptions(timeout_in_ms=300)))
