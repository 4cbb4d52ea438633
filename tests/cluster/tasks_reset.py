# tasks_reset — containers on other tasks, and what a reset takes
from client import TARGETS, np, refused, show, tf

with tf.device("/job:ps/task:0"):
    kept = tf.Variable(1.0, name="kept")
    with tf.container("mine"):
        other = tf.Variable(2.0, name="other")
with tf.Session(TARGETS[0]) as session:
    session.run(tf.global_variables_initializer())
    print(session.run([kept, other]))
tf.Session.reset(TARGETS[0], ["mine"])
with tf.Session(TARGETS[1]) as session:
    print(session.run(kept))
    refused(lambda: session.run(other), "uninitialized")
tf.Session.reset(TARGETS[1])
with tf.Session(TARGETS[0]) as session:
    refused(lambda: session.run(kept), "uninitialized")
