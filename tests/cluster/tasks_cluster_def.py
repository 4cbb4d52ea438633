# tasks_cluster_def — a cluster that the client brings: tasks by other names, with state of their own
import os
import sys

from client import TARGETS, refused, show, tf

cluster = tf.train.ClusterSpec({"chief": [TARGETS[0][7:]], "other": [TARGETS[1][7:]]})
config = tf.ConfigProto(cluster_def=cluster.as_cluster_def())
with tf.device("/job:other/task:0"):
    v = tf.Variable(1.0, name="v")
with tf.device("/job:chief/task:0"):
    y = v * 2.0
with tf.Session(TARGETS[0], config=config) as session:
    session.run(v.initializer)
    for _ in range(3):
        show("y", session.run(y))
        session.run(v.assign_add(1.0))
    print(sorted(d.name for d in session.list_devices() if "CPU" in d.name))
with tf.Session(TARGETS[0], config=config) as session:
    refused(lambda: session.run(v), "uninitialized")
