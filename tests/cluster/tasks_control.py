# tasks_control — control edges between tasks: what must come first does
from client import TARGETS, np, show, tf

with tf.device("/job:ps/task:0"):
    v = tf.Variable(0, use_resource=True)
with tf.device("/job:ps/task:1"):
    w = tf.Variable(0)
add = v.assign_add(1)
with tf.control_dependencies([add]), tf.device("/job:worker/task:1"):
    set_w = w.assign(v.read_value() * 10)
with tf.control_dependencies([set_w.op]):
    third = tf.group(v.assign_add(w.read_value()))
with tf.device("/job:worker/task:1"), tf.control_dependencies([third]):
    done = tf.no_op()
with tf.Session(TARGETS[0]) as session:
    session.run(tf.global_variables_initializer())
    for i in range(3):
        session.run(done)
        print(session.run([v, w]))
