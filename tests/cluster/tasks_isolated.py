# tasks_isolated — a session whose state nobody shares, on all tasks
from client import TARGETS, np, refused, show, tf

with tf.device("/job:ps/task:0"):
    v = tf.Variable(1.0, name="v")
with tf.device("/job:worker/task:1"):
    w = tf.Variable(2.0, name="w", use_resource=True)
config = tf.ConfigProto(isolate_session_state=True)
with tf.Session(TARGETS[0]) as shared, tf.Session(TARGETS[0], config=config) as alone:
    shared.run(tf.global_variables_initializer())
    refused(lambda: alone.run(v), "uninitialized")
    alone.run(tf.global_variables_initializer())
    alone.run([v.assign(5.0), w.assign(6.0)])
    print(alone.run([v, w]), shared.run([v, w]))
