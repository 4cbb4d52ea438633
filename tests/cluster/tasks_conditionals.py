# tasks_conditionals — branches on other tasks than the choice: what is not taken is dead there, too
from client import TARGETS, np, show, tf

tf.disable_control_flow_v2()
x = tf.placeholder(tf.float32, [])


def far():
    with tf.device("/job:ps/task:0"):
        y = x * 2.0
    with tf.device("/job:worker/task:1"):
        return tf.sqrt(y) + 1.0


def near():
    with tf.device("/job:ps/task:1"):
        return -x


with tf.device("/job:worker/task:0"):
    chosen = tf.cond(x > 1.0, far, near)
    outer = tf.cond(x > 10.0, lambda: tf.cond(x > 20.0, far, near), lambda: chosen * 3.0)
gradient = tf.gradients(chosen, x)[0]
with tf.device("/job:ps/task:1"):
    after = chosen + 100.0
with tf.Session(TARGETS[0]) as session:
    for value in (0.5, 8.0, 12.0, 32.0, -1.0):
        print(session.run([chosen, outer, after, gradient], {x: value}))
