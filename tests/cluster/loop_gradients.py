# loop_gradients — gradients through loops, conds and arrays
from client import TARGET, show, tf

x = tf.placeholder(tf.float32, [2])
n = tf.placeholder(tf.int32, [])
_, y = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * x + tf.sin(v)), [0, x])
z = tf.cond(n > 2, lambda: y * y, lambda: tf.exp(y))
array = tf.TensorArray(tf.float32, 2).unstack(z)
total = tf.reduce_sum(array.read(0) * 3 + array.read(1))
dx, = tf.gradients(total, x)
ddx, = tf.gradients(tf.reduce_sum(y[0] * x * x), x)
scan, = tf.gradients(tf.scan(lambda a, v: a * v, x), x)
with tf.Session(TARGET) as session:
    for steps in (0, 1, 2, 3, 7):
        for edge in (total, dx, ddx, scan):
            show("n=%d" % steps, session.run(edge, {x: [0.3, 1.1], n: steps}))
