# tasks_loops — loops that stay on one task, which is not the client's; their gradients
from client import TARGETS, np, show, tf

tf.disable_control_flow_v2()
n = tf.placeholder(tf.int32, [])
x = tf.placeholder(tf.float32, [2])
with tf.device("/job:ps/task:0"):
    start = x * 1.5
with tf.device("/job:worker/task:1"):
    i, total = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * v * 0.5 + tf.cast(i, tf.float32)),
                             [0, tf.identity(start)])
    twice = total * 2.0
with tf.device("/job:ps/task:1"):
    result = tf.reduce_sum(twice)
with tf.device("/job:worker/task:1"):
    gradient = tf.gradients(twice, x)[0]
with tf.Session(TARGETS[0]) as session:
    for turns in (0, 1, 3):
        print(session.run([i, result], {n: turns, x: [1, 2]}))
        show("gradient", session.run(gradient, {n: turns, x: [0.5, 1]}))
