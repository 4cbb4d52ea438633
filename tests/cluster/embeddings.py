# embeddings — embeddings over shards, their sparse updates, sampled losses
from client import TARGET, np, show, tf

shards = [tf.Variable(np.arange(9 * k, 9 * k + 9).reshape(3, 3) / np.float32(10)) for k in range(3)]
ids = tf.placeholder(tf.int64, [None])
for strategy in ("mod", "div"):
    rows = tf.nn.embedding_lookup(shards, ids, partition_strategy=strategy)
    loss = tf.reduce_sum(rows * rows)
    train = tf.train.AdagradOptimizer(0.1).minimize(loss)
    with tf.Session(TARGET) as session:
        session.run(tf.global_variables_initializer())
        for batch in ([0, 1, 8, 1], [3, 3, 3], [5]):
            show("loss", session.run([loss, train], {ids: batch})[0])
        show("all", session.run(tf.concat(shards, 0)))
weights, biases = tf.constant(np.ones((9, 3), np.float32) / 3), tf.zeros([9])
sampled = tf.nn.sampled_softmax_loss(weights, biases, tf.constant([[1], [2]], tf.int64), tf.ones([2, 3]), 4, 9, seed=1)
with tf.Session(TARGET) as session:
    show("sampled", session.run(sampled))
sp = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([1, 2, 4], tf.int64), [2, 2])
with tf.Session(TARGET) as session:
    session.run(tf.global_variables_initializer())
    for combiner in ("sum", "mean", "sqrtn"):
        show(combiner, session.run(tf.nn.embedding_lookup_sparse(shards, sp, None, combiner=combiner)))
