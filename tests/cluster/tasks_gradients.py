# tasks_gradients — gradients through nodes on four tasks
from client import TARGETS, np, show, tf

x = tf.placeholder(tf.float32, [4])
with tf.device("/job:ps/task:0"):
    w = tf.Variable([1.0, 2.0, 3.0, 4.0], use_resource=True)
    a = w * x
with tf.device("/job:worker/task:1"):
    b = tf.exp(-a) + tf.gather(x, [3, 2, 1, 0])
with tf.device("/job:ps/task:1"):
    c = tf.cumsum(b) * tf.reduce_max(a)
with tf.device("/job:worker/task:0"):
    loss = tf.reduce_sum(c * c)
gradients = tf.gradients(loss, [w, x], colocate_gradients_with_ops=True)
plain = tf.gradients(loss, [w, x])
with tf.Session(TARGETS[0]) as session:
    session.run(w.initializer)
    for values in ([0.1, 0.2, 0.3, 0.4], [1, 0, -1, 0.5]):
        show("loss", session.run(loss, {x: values}))
        for g in session.run(gradients + plain, {x: values}):
            show("gradient", g)
