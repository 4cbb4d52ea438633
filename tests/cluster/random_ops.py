# random_ops — random ops with seeds: the same numbers
from client import TARGET, show, tf

tf.set_random_seed(7)
edges = [tf.random_uniform([4]), tf.random_normal([3], seed=5), tf.truncated_normal([3], seed=2), tf.random_shuffle(tf.range(8)),
         tf.random_uniform([4], 0, 100, tf.int32, seed=9), tf.multinomial(tf.log([[0.2, 0.3, 0.5]]), 6, seed=1),
         tf.random.stateless_normal([3], [1, 2]), tf.random_gamma([3], 2.0, seed=4),
         tf.nn.dropout(tf.ones([8]), rate=0.5, seed=3)]
with tf.Session(TARGET) as session:
    for _ in range(2):
        for edge in edges:
            show(edge.op.type, session.run(edge))
with tf.Session(TARGET) as session:
    show("again", session.run(edges[1]))
