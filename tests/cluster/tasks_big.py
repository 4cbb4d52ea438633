# tasks_big — tensors of megabytes, and many small ones, between tasks
from client import TARGETS, np, show, tf

x = tf.placeholder(tf.float32, [None])
with tf.device("/job:ps/task:0"):
    big = tf.tile(x, [1 << 18])
    pieces = tf.split(big[:1200], 300)
with tf.device("/job:worker/task:1"):
    total = tf.reduce_sum(tf.reshape(big, [-1, 4]), 0)
    sums = tf.add_n([tf.reduce_sum(p) for p in pieces])
with tf.device("/job:worker/task:0"):
    here = big * 1.0
with tf.Session(TARGETS[0]) as session:
    for scale in (1, 2):
        feed = {x: np.arange(4, dtype=np.float32) * scale}
        show("total", session.run(total, feed))
        show("sums", session.run(sums, feed))
        value = session.run(here, feed)
        print(value.shape, value[:4], value[-4:])
